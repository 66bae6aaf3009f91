"""Move groups of weights between both branches of one data order, on arrival."""

import xarray as xr

from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.questions.weights.measure import weight_patching


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`weights`: dims (move, branch, group), means over trials."""
    below, above = inputs.branch("below").weights, inputs.branch("above").weights
    moved = weight_patching(inputs.setup, below, above, inputs.trials(inputs.study.localization.trials))
    return {"weights": moved.astype("float64").mean("trial", keep_attrs=True)}
