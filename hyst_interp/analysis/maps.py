"""Mean maps of both histories and their difference, over data orders and seeds, ready to be drawn."""

from collections.abc import Sequence

import xarray as xr

from hyst_interp.claim_inputs import maps
from hyst_interp.history.schedule import BRANCHES


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
