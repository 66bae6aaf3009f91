"""Move groups of weights between both branches of one data order, on arrival."""

from pathlib import Path

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.config import StudyConfig
from hyst_interp.history.schedule import BRANCHES
from hyst_interp.questions.weights.measure import weight_moves
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import Run, write_stage
from hyst_interp.study.plan import Stage, setup_of


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/weights/weights.nc`: dims (move, branch, group), means over trials."""
    run, setup = Run(root), setup_of(study, stage.seed)
    below, above = (load(run.hold(stage.seed, stage.order, branch, 0)).weights for branch in BRANCHES)
    trials = evaluation_trials(setup, study.localization.trials)
    with new_directory(root / stage.directory) as part:
        found = weight_moves(setup, below, above, trials).astype("float64").mean("trial", keep_attrs=True)
        write_results(found, part / "weights.nc")
        write_stage(part, stage.kind, stage.digest)
