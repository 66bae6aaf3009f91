"""Split what components carry into a mean part and an input-dependent part, for one data order on arrival."""

import xarray as xr

from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.questions.information.measure import information


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`information`: dims (replacement, components, branch, trial).

    How far a replacement leads is averaged over trials: its rows need no more, and it would be three quarters of a run.
    """
    return {"information": _kept(information(inputs.pair(inputs.study.localization.trials)))}


def _kept(parts: xr.Dataset) -> xr.Dataset:
    far = [name for name in parts.data_vars if name not in ("margin", "margin_after")]
    means = {name: parts[name].astype("float64").mean("trial", keep_attrs=True).astype("float32") for name in far}
    return parts.assign(means)
