"""The gap: margin(from below) − margin(from above) on the same trials, always in this direction.

Positive means that the network which comes from the side of the weights answers more from the prompt: the opposite of
lag. The gap splits exactly into what the contextual answer's logit contributes and what the fixed answer's does.
"""

import numpy as np
import xarray as xr

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.interventions.network import Network
from hyst_interp.interventions.resumed_forward import query_pass
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.model.plain_build import covers_model
from hyst_interp.readout import QUANTITIES, dataset, measure, strata
from hyst_interp.statistics import Estimate, over_trials
from hyst_interp.tasks.trials import Trials


def behaviour(model: Hooked, trials: Trials) -> dict[str, np.ndarray]:
    """Every quantity of `readout.QUANTITIES` of one network, per trial."""
    if covers_model(model):
        network = Network(model)
        return measure(lambda tokens: query_pass(network, tokens), trials)
    return measure(lambda tokens: model(tokens.to(device_of(model)))[:, -1], trials)


def pair_behaviour(pair: PairData) -> xr.Dataset:
    """Behaviour of both histories: dims (branch, trial), with the queried key and the strata as coordinates."""
    found = [behaviour(model, pair.trials) for model in (pair.below, pair.above)]
    values = {name: np.stack([one[name] for one in found]) for name in QUANTITIES}
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
    values = behaviours[quantity].astype("float64")
    return (values.sel(branch="below", drop=True) - values.sel(branch="above", drop=True)).rename(f"gap_{quantity}")


def by_stratum(behaviours: xr.Dataset, trials: Trials) -> dict[str, Estimate]:
    """The gap of one pair within each stratum of the prompt."""
    values = gap(behaviours).values
    return {name: over_trials(values[mask], "logits") for name, mask in strata(trials).items() if mask.sum() > 1}


def by_key(behaviours: xr.Dataset) -> xr.DataArray:
    """Mean gap for every queried key: other dimensions kept, `trial` becomes `key`."""
    values = gap(behaviours)
    return values.groupby("query").mean("trial").rename(query="key")
