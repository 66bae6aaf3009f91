"""What weights answer: every quantity of the readout, computed on the CPU or where the weights were trained.

No model is built where the query-position forward covers the shape; the operations are those of training.
"""

import numpy as np
import torch
from jaxtyping import Float

from hyst_interp.config import SetUp
from hyst_interp.history.guard import repeatable
from hyst_interp.history.state import TrainingState
from hyst_interp.model.build import Weights, model_of
from hyst_interp.model.query_forward import covers, query_forward
from hyst_interp.readout import measure
from hyst_interp.tasks.trials import Trials


def measured(
    state: TrainingState, trials: Trials, device: torch.device | str = "cpu"
) -> dict[str, Float[np.ndarray, " trial"]]:
    """`measured_weights` of a state's network."""
    return measured_weights(state.setup, state.weights, trials, device)


def measured_weights(
    setup: SetUp, weights: Weights, trials: Trials, device: torch.device | str = "cpu"
) -> dict[str, Float[np.ndarray, " trial"]]:
    """`readout.measure` of the network that `weights` make, by the query-position forward, computed on `device`.

    Raises ValueError where the weights do not have the set-up's shape, and off the CPU for a model that the
    query-position forward does not cover.
    """
    config = setup.model
    with repeatable(device):
        if torch.device(device).type == "cpu" and not covers(config):
            model = model_of(setup, weights)
            return measure(lambda tokens: model(tokens)[:, -1], trials)
        there = {name: value.to(device) for name, value in weights.items()}
        return measure(lambda tokens: query_forward(config, there, tokens.to(device)), trials)
