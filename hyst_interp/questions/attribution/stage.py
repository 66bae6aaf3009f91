"""Add up what every component of both branches of one data order writes towards the margin, on arrival."""

import xarray as xr

from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.questions.attribution.measure import direct_attribution


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`direct`: dims (branch, term, trial) and (term, part, trial)."""
    return {"direct": direct_attribution(inputs.pair(inputs.study.patching.trials))}
