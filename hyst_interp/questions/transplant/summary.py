"""Transplants as numbers with intervals: curves for a figure, and one row a number of updates for tables and JSON.

A seed's value is its mean over trials and data orders; intervals are Student's t over seeds. Results of one pair have
no seed: their intervals are over trials, and say that they speak of these two networks only.
"""

import numpy as np
import xarray as xr

from hyst_interp.analysis.replicates import as_arrays, over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.questions.transplant.decomposition import decomposition
from hyst_interp.statistics import Estimate, over_trials, ratio_of_means

EFFECTS = ("gap", "weights", "optimizer", "interaction")
"""The parts of `decomposition` that are single numbers."""
FAMILIES = {"moments": "moment", "shapley": "factor", "pairwise": "pair", "shared": "state"}
"""The parts that have a dimension of their own."""
SHARES = ("weights", "optimizer")


def curves(found: xr.Dataset) -> xr.DataArray:
    """Every part of the decomposition, dims (quantity, update, seed), or (quantity, update, trial) for one pair.

    Quantities are `gap`, `weights`, `optimizer`, `interaction`, and `moments: first moment` … `shared: zeroed`: the
    variable and the entry of its own dimension.

    Args:
        found: `transplant`'s Dataset, of one pair, or with dims `seed` and `order`.
    """
    parts = decomposition(found)
    lines = {name: parts[name] for name in EFFECTS}
    for name, dim in FAMILIES.items():
        lines |= {f"{name}: {entry}": parts[name].sel({dim: entry}, drop=True) for entry in parts[dim].values}
    joined = xr.concat(list(lines.values()), dim="quantity").assign_coords(quantity=list(lines))
    values = per_seed(joined) if "seed" in joined.dims else joined
    return values.transpose("quantity", "update", ...).assign_attrs(units="logits")


def curve_band(found: xr.DataArray) -> xr.Dataset:
    """`estimate`, `low`, `high` of `curves`, dims (quantity, update)."""
    flat = [_estimate(found.sel(quantity=name, update=at)) for name in found["quantity"] for at in found["update"]]
    shape = found.sizes["quantity"], found.sizes["update"]
    arrays = as_arrays(flat, "cell")
    columns = {name: (("quantity", "update"), one.values.reshape(shape)) for name, one in arrays.data_vars.items()}
    coords = {"quantity": found["quantity"].values, "update": found["update"].values}
    return xr.Dataset(columns, coords, arrays.attrs)


def transplant_rows(found: xr.Dataset) -> list[Row]:
    """One row a number of updates: `updates`, every quantity of `curves`, `weights_share` and `optimizer_share`.

    Shares of the gap are ratios of means with Fieller's interval, undefined with their reason where the gap may be 0.
    """
    values = curves(found)
    over = "seeds" if "seed" in values.dims else "trials"
    rows: list[Row] = []
    for update in values["update"].values:
        here = values.sel(update=update, drop=True)
        row: Row = {"updates": int(update)}
        row |= {str(name): _estimate(here.sel(quantity=name)) for name in here["quantity"].values}
        gap = here.sel(quantity="gap").values
        for name in SHARES:
            part = here.sel(quantity=name).values
            row[f"{name}_share"] = ratio_of_means(part, gap, unit="share of the gap", over=over)
        rows.append(row)
    return rows


def _estimate(values: xr.DataArray) -> Estimate:
    if "seed" in values.dims:
        return over_seeds(values)
    return over_trials(values.values.astype(np.float64), "logits")
