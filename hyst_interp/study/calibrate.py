"""Run both branches of one calibration cell: what the peaks reached, and the gap at the holds."""

from pathlib import Path

import numpy as np
import xarray as xr

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.config import StudyConfig
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.config.study import setup_of
from hyst_interp.history.advance import trajectory
from hyst_interp.history.schedule import hold_schedule, paired_schedules
from hyst_interp.history.state import fork
from hyst_interp.questions.gap.trajectory import best_margin
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import Run, write_stage
from hyst_interp.study.plan import Stage
from hyst_interp.study.train_branch import margins_of
from hyst_interp.tasks.registry import task_of


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `cells/NAME/seed-N/cell.nc`: `followed_up`, `followed_down`, and `gap_hold_NNN` at every hold."""
    anchor = load(Run(root).anchor(stage.seed)).state()
    trials = evaluation_trials(task_of(setup_of(study, stage.seed)), study.behaviour.trajectory_trials)
    climb = study.schedule.levels * study.schedule.dwell
    at_peak: dict[str, list[float]] = {"up": [], "down": []}
    held: dict[int, list[float]] = {hold: [] for hold in study.holds}
    for branch in BRANCHES:
        schedule = paired_schedules(study.schedule, study.p0)[branch]
        arrival = start = fork(anchor, branch, 0)
        for arrival in trajectory(start, schedule, at=[climb, 3 * climb, len(schedule)]):
            if arrival.position < len(schedule):
                p = float(schedule.p[arrival.position - 1])
                share = float(margins_of(arrival, trials).mean(dtype=np.float64) / best_margin(np.array([p]))[0])
                at_peak["up" if p > study.p0 else "down"].append(share)
        for state in trajectory(arrival, hold_schedule(study.holds[-1], study.p0), at=list(study.holds)):
            hold = state.position - len(schedule)
            held[hold].append(float(margins_of(state, trials).mean(dtype=np.float64)))
    variables = {f"followed_{side}": float(np.mean(shares)) for side, shares in at_peak.items()}
    variables |= {f"gap_hold_{hold}": below - above for hold, (below, above) in held.items()}
    with new_directory(root / stage.directory) as part:
        write_results(xr.Dataset(variables), part / "cell.nc")
        write_stage(part, stage.kind, stage.digest)
