"""Attention patterns of both histories, head by head and role by role, ready to be drawn."""

import xarray as xr

from hyst_interp.analysis.summary import per_seed
from hyst_interp.config.schedule import BRANCHES


def history_attention(found: xr.Dataset, seed: int) -> xr.DataArray:
    """Mean attention of the query by role: dims (history, layer, head, role) with below, above, difference.

    `attention` has dims (seed, order, branch, layer, head, role[, trial]): attention from the query, summed over the
    positions of a role. Heads of different seeds have no common numbering, so the array speaks of one seed.
    """
    values = per_seed(found["attention"].sel(seed=seed, drop=True).astype("float64"))
    below, above = (values.sel(branch=branch, drop=True) for branch in BRANCHES)
    three = xr.concat([below, above, below - above], dim="history", coords="minimal", compat="override")
    attrs = {"site": "pattern", "units": "probability", "quantity": "attention", "from_zero": 1}
    title = f"Attention from the query, by head and role, seed {seed}"
    named = three.assign_coords(history=[*BRANCHES, "difference"]).drop_attrs()
    return named.transpose("history", "layer", "head", "role").assign_attrs(attrs, title=title)


def largest_difference(array: xr.DataArray) -> tuple[str, str, float]:
    """The head and role whose attention differs most between the histories, and by how much."""
    difference = array.sel(history="difference").transpose("layer", "head", "role")
    place = abs(difference).argmax(["layer", "head", "role"])
    layer, head, role = (int(place[dim]) for dim in ("layer", "head", "role"))
    name = f"L{int(difference['layer'][layer])}H{int(difference['head'][head])}"
    return name, str(difference["role"].values[role]), float(difference[layer, head, role])
