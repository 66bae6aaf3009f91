"""Move places of one history into the other on arrival, and follow what moving still does through the hold."""

from collections.abc import Iterator
from pathlib import Path

from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.config import StudyConfig
from hyst_interp.history.advance import trajectory
from hyst_interp.history.schedule import BRANCHES, hold_schedule
from hyst_interp.history.state import TrainingState
from hyst_interp.questions.crossing.crossing_over_time import Stop, mechanism_course
from hyst_interp.questions.crossing.layer_swap import prefix_ladder
from hyst_interp.questions.crossing.measure import KINDS, crossing
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import Run, write_stage
from hyst_interp.study.pairs import pair_at
from hyst_interp.study.plan import Stage, hold_positions, setup_of

FOLLOWED = 256
"""Trials that are followed through the hold, at most: they are kept at every position."""


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/crossing`: `crossing-SITE.nc`, `ladder.nc`, and `mechanism.nc` (position, mechanism, …)."""
    pair = pair_at(study, root, stage.seed, stage.order, 0, study.localization.trials)
    with new_directory(root / stage.directory) as part:
        for kind in KINDS:
            if kind != "mlp_out" or study.model.d_mlp:
                write_results(crossing(pair, kind), part / f"crossing-{kind}.nc")
        write_results(prefix_ladder(pair), part / "ladder.nc")
        write_results(mechanism_course(_stops(study, root, stage)), part / "mechanism.nc")
        write_stage(part, stage.kind, stage.digest)


def _stops(study: StudyConfig, root: Path, stage: Stage) -> Iterator[Stop]:
    """Both histories at every measured position of the hold: trained on from arrival, or the kept checkpoints."""
    setup = setup_of(study, stage.seed)
    trials = evaluation_trials(setup, min(FOLLOWED, study.localization.trials))
    inputs = mean_inputs(setup, 2)
    for below, above in _states(study, root, stage):
        yield Stop(below.position, below.tau, PairData(below.model(), above.model(), trials, inputs))


def _states(study: StudyConfig, root: Path, stage: Stage) -> Iterator[tuple[TrainingState, TrainingState]]:
    arrivals = [load(Run(root).hold(stage.seed, stage.order, branch, 0)).state() for branch in BRANCHES]
    at = (0, *hold_positions(study))
    below, above = (trajectory(one, hold_schedule(study.holds[-1], study.p0), at) for one in arrivals)
    yield from zip(below, above, strict=True)
