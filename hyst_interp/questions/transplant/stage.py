"""Hold both branches of one data order at p0 with exchanged optimizer states."""

from pathlib import Path

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.config import StudyConfig
from hyst_interp.history.schedule import BRANCHES
from hyst_interp.questions.transplant.measure import transplant
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import Run, write_stage
from hyst_interp.study.plan import Stage, setup_of


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/transplant/transplant.nc`: dims (weights, optimizer, update, trial)."""
    run, settings = Run(root), study.localization
    below, above = (load(run.hold(stage.seed, stage.order, branch, 0)).state() for branch in BRANCHES)
    anchor = load(run.anchor(stage.seed)).state()
    trials = evaluation_trials(setup_of(study, stage.seed), settings.trials)
    with new_directory(root / stage.directory) as part:
        write_results(transplant(below, above, anchor, settings.updates, trials), part / "transplant.nc")
        write_stage(part, stage.kind, stage.digest)
