"""The gap: margin(from below) − margin(from above) on the same trials, always in this direction.

Positive means that the network which comes from the side of the weights answers more from the prompt: the opposite of
lag. The gap splits exactly into what the contextual answer's logit contributes and what the fixed answer's does.
"""

import numpy as np
import xarray as xr

from hyst_interp.analysis.exchange import below_minus_above
from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.interventions.network import Network
from hyst_interp.interventions.resumed_forward import query_pass
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.model.plain_build import covers_model
from hyst_interp.readout import QUANTITIES, dataset, measure
from hyst_interp.tasks.trials import Trials


def behaviour(model: Hooked, trials: Trials) -> dict[str, np.ndarray]:
    """Every quantity of `readout.QUANTITIES` of one network, per trial."""
    if covers_model(model):
        network = Network(model)
        return measure(lambda tokens: query_pass(network, tokens), trials)
    return measure(lambda tokens: model(tokens.to(device_of(model)))[:, -1], trials)


def pair_behaviour(pair: PairData) -> xr.Dataset:
    """Behaviour of both histories: dims (branch, trial), with the queried key and the strata as coordinates."""
    sides = [behaviour(model, pair.trials) for model in (pair.below, pair.above)]
    values = {name: np.stack([side[name] for side in sides]) for name in QUANTITIES}
    return dataset(values, ("branch", "trial"), {"branch": list(BRANCHES), **trial_coords(pair.trials)})


def trial_coords(trials: Trials) -> dict[str, tuple[str, np.ndarray]]:
    """What results keep of every trial: queried key, and the two facts that define strata."""
    return {
        "query": ("trial", trials.query),
        "contextual_count": ("trial", trials.contextual_count),
        "fixed_present": ("trial", trials.fixed_present.astype(np.int8)),
    }


def gap(behaviours: xr.Dataset, quantity: str = "margin") -> xr.DataArray:
    """below − above of a quantity, every other dimension kept."""
    return below_minus_above(behaviours[quantity]).rename(f"gap_{quantity}")


def by_key(behaviours: xr.Dataset) -> xr.DataArray:
    """Mean gap for every queried key: other dimensions kept, `trial` becomes `key`.

    `query`, (trial,) or (seed, trial), tells the queried key; keys that a seed's trials never query are NaN. The
    permutation differs by seed, so a key means something else in each: nothing is averaged over seeds.
    """
    values, query = gap(behaviours), behaviours["query"]
    keys = np.unique(query)
    means = [values.where(query == key).mean("trial") for key in keys]
    return xr.concat(means, "key").assign_coords(key=keys).transpose(..., "key")
