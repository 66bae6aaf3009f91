"""Hold both branches of one data order at p0 with exchanged optimizer states."""

import xarray as xr

from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.questions.transplant.measure import transplant


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`transplant`: dims (weights, optimizer, update, trial)."""
    settings = inputs.study.localization
    below, above = inputs.branch("below").state(), inputs.branch("above").state()
    trials = inputs.trials(settings.trials)
    return {"transplant": transplant(below, above, inputs.anchor().state(), settings.updates, trials)}
