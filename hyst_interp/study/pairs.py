"""The pair of networks that a measuring stage looks at."""

from pathlib import Path

from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.config import StudyConfig
from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.run import Run
from hyst_interp.study.plan import setup_of


def pair_at(study: StudyConfig, root: Path, seed: int, order: int, hold: int, trials: int) -> PairData:
    """Both branches of one data order after `hold` updates, on the first `trials` evaluation trials of the seed."""
    run, setup = Run(root), setup_of(study, seed)
    below, above = (load(run.hold(seed, order, branch, hold)).model() for branch in ("below", "above"))
    return PairData(
        below,
        above,
        evaluation_trials(setup, trials),
        mean_inputs(setup, study.attenuation.means_trials),
        load(run.anchor(seed)).model(),
    )
