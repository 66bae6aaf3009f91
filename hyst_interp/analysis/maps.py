"""Mean maps of both histories and their difference, over data orders and seeds, ready to be drawn."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import xarray as xr

from hyst_interp.config.schedule import BRANCHES
from hyst_interp.interventions.patching import unchanged_by
from hyst_interp.tasks.recall import UNCHANGED


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


def free_cells(attrs: Mapping, array: xr.DataArray) -> xr.DataArray:
    """A mask over a map's cells: False where the value is fixed by construction or cut off by causality.

    Left out: the layer-0 residual stream (the prompt itself), the final residual stream (only the query is read, and
    it gives the donor's logits), last-layer components away from the query (the last place), the first position's
    attention pattern (it never varies), and places before the first changed token, which the map's own task named.
    """
    unchanged = _unchanged(attrs, array)
    return _free(attrs["site"], unchanged, array)


def _unchanged(attrs: Mapping, array: xr.DataArray) -> tuple[str, ...]:
    """Places before the first changed token. Maps that do not say so were stored when there was one task, recall."""
    twin, axis = attrs["twin"], attrs["axis"]
    text = attrs.get(unchanged_by(twin))
    if text is not None:
        return tuple(json.loads(text))
    roles, labels = UNCHANGED.get(twin, ((), ()))
    if axis == "role":
        return roles
    return tuple(array["pos"].values[:-1].tolist()) if labels is None else labels


def _free(site: str, unchanged: tuple[str, ...], array: xr.DataArray) -> xr.DataArray:
    place = "role" if "role" in array.dims else "pos"
    n_rows = array.sizes["layer"]
    layer, places = array["layer"], array[place]
    free = xr.ones_like(array, dtype=bool)
    if site == "resid_pre":
        free = free & (layer != 0) & (layer != n_rows - 1)
    else:
        free = free & ((layer != n_rows - 1) | (places == places[-1]))
    if site == "pattern" and place == "pos":
        free = free & (places != places[0])
    return free & ~places.isin(list(unchanged))


def flat(maps: list[xr.DataArray]) -> np.ndarray:
    """The free cells of one or several maps (one a twin, say) as one vector."""
    parts = []
    for effect in maps:
        labels = tuple(tuple(effect[dim].values.tolist()) for dim in effect.dims)
        dims = tuple(str(dim) for dim in effect.dims)
        parts.append(effect.values[_mask(effect.attrs["site"], _unchanged(effect.attrs, effect), dims, labels)])
    return np.concatenate(parts)


@lru_cache(maxsize=64)
def _mask(site: str, unchanged: tuple[str, ...], dims: tuple[str, ...], labels: tuple[tuple, ...]) -> np.ndarray:
    """`free_cells` as a plain array: it depends on labels alone, and many seeds ask for it thousands of times."""
    shape = tuple(len(names) for names in labels)
    blank = xr.DataArray(np.zeros(shape), {dim: list(names) for dim, names in zip(dims, labels, strict=True)}, dims)
    return _free(site, unchanged, blank).transpose(*dims).values


def select(found: xr.Dataset, seed: int, branch: str, order: int | None = None) -> list[xr.Dataset]:
    """One history's effects, a Dataset a twin: averaged over orders, or of one order."""
    history = found.sel(seed=seed, branch=branch)
    history = history.mean("order") if order is None else history.sel(order=order)
    return [
        history.sel(twin=twin, drop=True).assign_attrs(found.attrs, twin=str(twin)) for twin in found["twin"].values
    ]


def maps(found: xr.Dataset, seed: int, branch: str, order: int | None = None) -> list[xr.DataArray]:
    """One history's mean maps, one a twin."""
    return [mean_map(effects) for effects in select(found, seed, branch, order)]
