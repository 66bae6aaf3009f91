"""Run one branch: its schedule, then the hold; margins along both, checkpoints at the holds."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from hyst_interp.comparison.pair_data import evaluation_trials
from hyst_interp.config import StudyConfig
from hyst_interp.history.advance import trajectory
from hyst_interp.history.schedule import Schedule, exposure_digest, hold_schedule, paired_schedules
from hyst_interp.history.state import TrainingState, fork
from hyst_interp.model.query_forward import query_logits
from hyst_interp.readout import measure
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.checkpoint import load, save
from hyst_interp.storage.manifest import Ancestor, Provenance
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import Run, write_stage
from hyst_interp.study.plan import Stage, hold_positions, schedule_positions, setup_of
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
    schedule = paired_schedules(study.schedule, study.p0)["below" if stage.branch == "below" else "above"]
    trials = evaluation_trials(setup_of(study, stage.seed), study.behaviour.trajectory_trials)
    origin = Ancestor(state=anchor.hash(), weights=anchor.weights_hash())
    margins, clock, parent = [], [], origin
    with new_directory(root / stage.directory) as part:
        for state in _states(study, anchor, stage, schedule):
            margins.append(margins_of(state, trials))
            clock.append((state.position, np.nan if state.tau is None else float(state.tau)))
            hold = state.position - len(schedule)
            if hold in study.holds:
                place = Provenance(
                    step=state.step,
                    hold=hold,
                    parent=parent,
                    anchor=origin,
                    schedule=schedule.digest(),
                    exposure=exposure_digest(schedule),
                )
                keeps = ("hold-000" if hold == 0 else "later-holds") in study.save_optimizer
                manifest = save(state, part / f"hold-{hold:03d}", place, optimizer=keeps)
                parent = Ancestor(state=manifest.state, weights=manifest.weights)
        write_results(_table(study, schedule, np.stack(margins), clock), part / "trajectory.nc")
        write_stage(part, stage.kind, stage.digest)


def _states(study: StudyConfig, anchor: TrainingState, stage: Stage, schedule: Schedule) -> Iterator[TrainingState]:
    """The branch at every measured position, through schedule and hold."""
    arrival = start = fork(anchor, stage.branch, stage.order)
    for arrival in trajectory(start, schedule, at=schedule_positions(study)):
        yield arrival
    yield from trajectory(arrival, hold_schedule(study.holds[-1], study.p0), at=hold_positions(study))


def margins_of(state: TrainingState, trials: Trials) -> np.ndarray:
    """Margin of every trial, by the query-position forward."""
    config, model = state.setup.model, state.model()
    return measure(lambda tokens: query_logits(config, model, tokens), trials)["margin"]


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
