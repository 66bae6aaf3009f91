"""The gap by what the prompt holds: the strata of `readout.strata`, of a run or of one pair."""

import xarray as xr

from hyst_interp.analysis.summary import join, per_seed, replicate_of, summarise
from hyst_interp.questions.gap.measure import gap
from hyst_interp.readout import strata

FEWEST = 2
"""Trials that a stratum has at least, or it is left out."""


def by_stratum(behaviours: xr.Dataset) -> xr.Dataset:
    """The table of the gap, dims (stratum[, hold]), with the coordinate `share`, a stratum's share of the trials.

    Args:
        behaviours: margins (…, branch, trial) with the trials' facts, as coordinates or variables ([seed, ]trial).
    """
    masks = strata(behaviours["fixed_present"], behaviours["contextual_count"])
    masks = {name: mask for name, mask in masks.items() if int(mask.sum("trial").min()) >= FEWEST}
    values = gap(behaviours)
    table = join({name: summarise(_within(values, mask), "logits") for name, mask in masks.items()}, "stratum")
    return table.assign_coords(share=("stratum", [float(mask.mean()) for mask in masks.values()]))


def _within(values: xr.DataArray, mask: xr.DataArray) -> xr.DataArray:
    """Values in a stratum: of one pair its trials, of a run a seed's mean over them."""
    return per_seed(values.where(mask)) if replicate_of(values) == "seed" else values.isel(trial=mask.values)
