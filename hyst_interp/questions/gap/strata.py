"""The gap of a run by what the prompt holds: the strata of `readout.strata`, from the columns that results keep."""

import xarray as xr

from hyst_interp.analysis.summary import per_seed
from hyst_interp.questions.gap.measure import gap


def gap_by_stratum(behaviour: xr.Dataset) -> dict[str, xr.DataArray]:
    """Stratum → gap (seed, hold) of margins (seed, order, hold, branch, trial) with the trials' facts (seed, trial)."""
    present, repeated = behaviour["fixed_present"] == 1, behaviour["contextual_count"] > 1
    masks = {
        "all": xr.ones_like(present, dtype=bool),
        "fixed answer in the prompt": present,
        "fixed answer absent": ~present,
        "contextual answer once": ~repeated,
        "contextual answer repeated": repeated,
    }
    values = gap(behaviour)
    return {name: per_seed(values.where(mask)) for name, mask in masks.items() if bool(mask.any("trial").all())}


def share_by_stratum(behaviour: xr.Dataset) -> dict[str, float]:
    """Stratum → its share of the trials, over all seeds."""
    present, repeated = behaviour["fixed_present"] == 1, behaviour["contextual_count"] > 1
    return {
        "all": 1.0,
        "fixed answer in the prompt": float(present.mean()),
        "fixed answer absent": float((~present).mean()),
        "contextual answer once": float((~repeated).mean()),
        "contextual answer repeated": float(repeated.mean()),
    }
