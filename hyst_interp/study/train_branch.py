"""Run one branch: its schedule, then the hold; margins along both, checkpoints at the holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import xarray as xr

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.config import StudyConfig
from hyst_interp.config.study import hold_positions, schedule_positions, setup_of
from hyst_interp.history.advance import trajectory
from hyst_interp.history.measured import measured
from hyst_interp.history.schedule import Schedule, exposure_digest, hold_schedule, paired_schedules
from hyst_interp.history.state import TrainingState, fork
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.checkpoint import load, save
from hyst_interp.storage.manifest import Ancestor, Provenance
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import Run, write_stage
from hyst_interp.study.plan import Stage
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials

CLOCKS = {
    "position": {"units": "updates", "long_name": "updates after the fork"},
    "tau": {"units": "updates", "long_name": "updates after the last one at p ≠ p0"},
    "hold": {"units": "updates", "long_name": "updates after arrival"},
}
"""Attributes of the three clocks (a unit with the word "since" would be read as a calendar)."""


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `seed-N/order-M/BRANCH`: a checkpoint a hold, and `trajectory.nc`."""
    anchor = load(Run(root).anchor(stage.seed)).state()
    with branch_record(study, root, stage, anchor) as record:
        for state in _states(study, record.start, record.schedule):
            record.add(state)


def _states(study: StudyConfig, start: TrainingState, schedule: Schedule) -> Iterator[TrainingState]:
    """The branch at every measured position, through schedule and hold."""
    arrival = start
    for arrival in trajectory(start, schedule, at=schedule_positions(study)):
        yield arrival
    yield from trajectory(arrival, hold_schedule(study.holds[-1], study.p0), at=hold_positions(study))


class BranchRecord:
    """What a branch keeps of its states, in the order of its measured positions, in a directory being written."""

    def __init__(self, study: StudyConfig, stage: Stage, anchor: TrainingState, part: Path, device: str) -> None:
        self.study, self.stage, self.part, self.device = study, stage, part, device
        self.schedule = paired_schedules(study.schedule, study.p0)["below" if stage.branch == "below" else "above"]
        self.start = fork(anchor, stage.branch, stage.order)
        self.trials = evaluation_trials(task_of(setup_of(study, stage.seed)), study.behaviour.trajectory_trials)
        self.origin = self.parent = Ancestor(state=anchor.hash(), weights=anchor.weights_hash())
        self.margins: list[np.ndarray] = []
        self.clock: list[tuple[int, float]] = []

    def add(self, state: TrainingState) -> None:
        """Measure the state's margins; keep a checkpoint of it at a hold."""
        self.margins.append(margins_of(state, self.trials, self.device))
        self.clock.append((state.position, np.nan if state.tau is None else float(state.tau)))
        hold = state.position - len(self.schedule)
        if hold not in self.study.holds:
            return
        place = Provenance(
            step=state.step,
            hold=hold,
            parent=self.parent,
            anchor=self.origin,
            schedule=self.schedule.digest(),
            exposure=exposure_digest(self.schedule),
        )
        keeps = ("hold-000" if hold == 0 else "later-holds") in self.study.save_optimizer
        manifest = save(state, self.part / f"hold-{hold:03d}", place, optimizer=keeps)
        self.parent = Ancestor(state=manifest.state, weights=manifest.weights)

    def finish(self) -> None:
        """Write the margins and the stage's hash."""
        table = _table(self.study, self.schedule, np.stack(self.margins), self.clock)
        write_results(table, self.part / "trajectory.nc")
        write_stage(self.part, self.stage.kind, self.stage.digest)


@contextmanager
def branch_record(
    study: StudyConfig, root: Path, stage: Stage, anchor: TrainingState, device: str = "cpu"
) -> Iterator[BranchRecord]:
    """A record to add the branch's states to; its directory is whole when the block ends well, and else not there.

    Margins are measured on `device`.
    """
    with new_directory(root / stage.directory) as part:
        record = BranchRecord(study, stage, anchor, part, device)
        yield record
        record.finish()


def margins_of(state: TrainingState, trials: Trials, device: str = "cpu") -> np.ndarray:
    """Margin of every trial, by the query-position forward."""
    return measured(state, trials, device)["margin"]


def _table(study: StudyConfig, schedule: Schedule, margins: np.ndarray, clock: list[tuple[int, float]]) -> xr.Dataset:
    """Margins (position, trial) with τ, the hold, and the mixture of the last update."""
    position = np.array([at for at, _ in clock])
    hold = np.where(position >= len(schedule), position - len(schedule), -1).astype(float)
    hold[hold < 0] = np.nan
    mixture = np.concatenate([[study.p0], schedule.p, np.full(study.holds[-1], study.p0)])[position]
    return xr.Dataset(
        {
            "margin": (("position", "trial"), margins, {"units": "logits"}),
            "p": (("position",), mixture, {"units": "probability", "method": "mixture of the last update"}),
        },
        coords={
            "position": ("position", position, CLOCKS["position"]),
            "tau": ("position", np.array([tau for _, tau in clock]), CLOCKS["tau"]),
            "hold": ("position", hold, CLOCKS["hold"]),
        },
        attrs={"schedule": schedule.digest(), "exposure": exposure_digest(schedule)},
    )
