"""The gap by the key that is queried: is it a matter of a few keys, or of all?

The permutation differs by seed, so a key means something else in each: there is a row a seed, and no mean over seeds
of one key.
"""

import numpy as np
import xarray as xr

from hyst_interp.questions.gap.measure import gap


def gap_by_queried_key(behaviour: xr.Dataset) -> xr.DataArray:
    """Gap (seed, hold, key) over trials and data orders of margins (seed, order, hold, branch, trial).

    `query` (seed, trial) or (trial,) tells the queried key; keys that a seed's trials never query are NaN.
    """
    values = gap(behaviour).mean("order").transpose("seed", "hold", "trial")
    query = behaviour["query"]
    if "seed" not in query.dims:
        query = query.expand_dims(seed=behaviour["seed"].values)
    asked = query.transpose("seed", "trial").values
    keys = np.unique(asked)
    found = np.full((values.sizes["seed"], values.sizes["hold"], len(keys)), np.nan)
    for s in range(values.sizes["seed"]):
        for k, key in enumerate(keys):
            mask = asked[s] == key
            if mask.any():
                found[s, :, k] = values.values[s][:, mask].mean(1)
    coords = {"seed": values["seed"].values, "hold": values["hold"].values, "key": keys}
    return xr.DataArray(found, coords, ("seed", "hold", "key"), attrs={"units": "logits"})
