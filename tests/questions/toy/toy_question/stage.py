"""The toy's stage: standard deviations of margins."""

import numpy as np
import xarray as xr

from hyst_interp.analysis.stage_inputs import StageInputs
from toy_question.methods import widths


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`toy`: dims (branch)."""
    values = np.array(widths(inputs.pair(8)))
    return {"toy": xr.Dataset({"width": (("branch",), values)}, {"branch": ["below", "above"]})}
