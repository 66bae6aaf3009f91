"""Transplants as numbers with intervals: one table of every part of the gap after every number of updates.

A seed's value is its mean over trials and data orders; intervals are Student's t over seeds. Results of one pair have
no seed: their intervals are over trials, and say that they speak of these two networks only.
"""

import xarray as xr

from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import QUANTITY, records, replicates, shares, summarise
from hyst_interp.questions.transplant.decomposition import decomposition

EFFECTS = ("gap", "weights", "optimizer", "interaction")
"""The parts of `decomposition` that are single numbers."""
FAMILIES = {"moments": "moment", "shapley": "factor", "pairwise": "pair", "shared": "state"}
"""The parts that have a dimension of their own."""
SHARES = ("weights", "optimizer")


def curves(transplanted: xr.Dataset) -> xr.DataArray:
    """Every part of the decomposition, dims (quantity, update, seed), or (quantity, update, trial) for one pair.

    Quantities are `gap`, `weights`, `optimizer`, `interaction`, and `moments: first moment` … `shared: zeroed`: the
    variable and the entry of its own dimension.

    Args:
        transplanted: `transplant`'s Dataset, of one pair, or with dims `seed` and `order`.
    """
    parts = decomposition(transplanted)
    lines = {name: parts[name] for name in EFFECTS}
    for name, dim in FAMILIES.items():
        lines |= {f"{name}: {entry}": parts[name].sel({dim: entry}, drop=True) for entry in parts[dim].values}
    joined = xr.concat(list(lines.values()), dim=QUANTITY).assign_coords({QUANTITY: list(lines)})
    return replicates(joined).transpose(QUANTITY, "update", ...).assign_attrs(units="logits")


def transplant_table(transplanted: xr.Dataset) -> xr.Dataset:
    """The table of every quantity of `curves`, dims (quantity, update), and of `weights_share` and `optimizer_share`.

    Shares of the gap are ratios of means with Fieller's interval, undefined with their reason where the gap may be 0.
    """
    values = curves(transplanted)
    gap = values.sel({QUANTITY: "gap"}, drop=True)
    parts = shares(values.sel({QUANTITY: list(SHARES)}), gap)
    parts = parts.assign_coords({QUANTITY: [f"{name}_share" for name in SHARES]})
    return xr.concat([summarise(values), parts.transpose(QUANTITY, "update")], QUANTITY, combine_attrs="drop")


def transplant_rows(table: xr.Dataset) -> list[Row]:
    """`transplant_table` as one row a number of updates: `updates`, and every quantity."""
    return records(table.rename(update="updates"))
