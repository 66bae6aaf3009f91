"""Mean maps of both histories and their difference, over data orders and seeds, ready to be drawn."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import xarray as xr

from hyst_interp.config.schedule import BRANCHES
from hyst_interp.sites import ROLES


def history_maps(found: xr.Dataset, seeds: Sequence[int]) -> list[xr.DataArray]:
    """One map a twin, dims (history, layer[, head], pos|role) with history below, above, difference, in logits.

    `found` has dims (seed, order, branch, twin, …, trial); the mean is over trials, orders, and the given seeds. Heads
    of different seeds have no common numbering, so a map with a head axis speaks of one seed only: give one.
    """
    sides = []
    for branch in BRANCHES:
        per_seed = [maps(found, int(seed), branch) for seed in seeds]
        sides.append([xr.concat(of_twin, dim="seed").mean("seed") for of_twin in zip(*per_seed, strict=True)])
    twins = [str(twin) for twin in found["twin"].values]
    joined = []
    for twin, below, above in zip(twins, *sides, strict=True):
        three = xr.concat([below, above, below - above], dim="history", coords="minimal", compat="override")
        attrs = {**found.attrs, "twin": twin, "effect": "raw", "units": "logits"}
        joined.append(three.assign_coords(history=[*BRANCHES, "difference"]).drop_attrs().assign_attrs(attrs))
    return joined


def mean_map(effects: xr.Dataset) -> xr.DataArray:
    """The raw effect of every cell, averaged over trials where they are kept, with what tells its free cells."""
    effect = effects["effect"].astype("float64")
    mean = effect.mean("trial") if "trial" in effect.dims else effect
    return mean.assign_attrs(effects.attrs)


def free_cells(site: str, twin: str, axis: str, array: xr.DataArray) -> xr.DataArray:
    """A mask over a map's cells: False where the value is fixed by construction or cut off by causality.

    Left out: the layer-0 residual stream (the prompt itself), the final residual stream (only the query is read, and
    it gives the donor's logits), last-layer components away from the query, and roles and positions before the first
    changed token: the first position is a key, so no value twin changes it, and its attention pattern never varies.
    """
    place = "role" if axis == "role" else "pos"
    n_rows = array.sizes["layer"]
    free = xr.ones_like(array, dtype=bool)
    layer = array["layer"]
    query = array[place] == ("query" if axis == "role" else "q")
    if site == "resid_pre":
        free = free & (layer != 0) & (layer != n_rows - 1)
    else:
        free = free & ((layer != n_rows - 1) | query)
    if axis == "role" and twin in ("value", "query"):
        before = ROLES[: ROLES.index("its value")] if twin == "value" else [r for r in ROLES if r != "query"]
        return free & ~array[place].isin(list(before))
    if axis == "position" and twin == "query":
        return free & query
    if axis == "position" and (twin == "value" or site == "pattern"):
        return free & (array[place] != array[place][0])
    return free


def flat(maps: list[xr.DataArray]) -> np.ndarray:
    """The free cells of one or several maps (one a twin, say) as one vector."""
    parts = []
    for one in maps:
        labels = tuple(tuple(one[dim].values.tolist()) for dim in one.dims)
        dims = tuple(str(dim) for dim in one.dims)
        parts.append(one.values[_mask(one.attrs["site"], one.attrs["twin"], one.attrs["axis"], dims, labels)])
    return np.concatenate(parts)


@lru_cache(maxsize=64)
def _mask(site: str, twin: str, axis: str, dims: tuple[str, ...], labels: tuple[tuple, ...]) -> np.ndarray:
    """`free_cells` as a plain array: it depends on labels alone, and many seeds ask for it thousands of times."""
    shape = tuple(len(one) for one in labels)
    blank = xr.DataArray(np.zeros(shape), {dim: list(one) for dim, one in zip(dims, labels, strict=True)}, dims)
    return free_cells(site, twin, axis, blank).transpose(*dims).values


def select(found: xr.Dataset, seed: int, branch: str, order: int | None = None) -> list[xr.Dataset]:
    """One history's effects, a Dataset a twin: averaged over orders, or of one order."""
    one = found.sel(seed=seed, branch=branch)
    one = one.mean("order") if order is None else one.sel(order=order)
    return [one.sel(twin=twin, drop=True).assign_attrs(found.attrs, twin=str(twin)) for twin in found["twin"].values]


def maps(found: xr.Dataset, seed: int, branch: str, order: int | None = None) -> list[xr.DataArray]:
    """One history's mean maps, one a twin."""
    return [mean_map(one) for one in select(found, seed, branch, order)]
