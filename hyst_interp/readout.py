"""Logits and trials become margins, probabilities, and splits: the only definition of margin in the project.

The margin is logit[c] − logit[f] at the query over the full vocabulary. It splits exactly into what the contextual
answer contributes, logit[c] − m, and what the fixed answer contributes, m − logit[f], where m is the mean logit of the
other values. Positive means that the network answers from the prompt.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float

from hyst_interp.tasks.trials import Trials

QUANTITIES = {
    "margin": ("logit[contextual] − logit[fixed] at the query", "logits"),
    "contextual_part": ("logit[contextual] − mean logit of the other values", "logits"),
    "fixed_part": ("mean logit of the other values − logit[fixed]", "logits"),
    "contextual_logit": ("logit[contextual]", "logits"),
    "fixed_logit": ("logit[fixed]", "logits"),
    "p_contextual": ("probability of the contextual answer", "probability"),
    "p_fixed": ("probability of the fixed answer", "probability"),
}
"""What is read from the logits of a trial: name → (method, unit)."""

Facts = TypeVar("Facts", np.ndarray, xr.DataArray)
"""One fact a trial."""

CHUNK = 512
"""Trials a forward pass; fixed, so that results do not depend on how many trials were asked for."""


def read(
    logits: Float[torch.Tensor, "*cell trial d_vocab"], trials: Trials
) -> dict[str, Float[np.ndarray, "*cell trial"]]:
    """Every quantity of `QUANTITIES` for logits at the query; ValueError where the numbers of trials differ."""
    if logits.shape[-2] != len(trials):
        raise ValueError(f"logits have {logits.shape[-2]} rows for {len(trials)} trials; give one row a trial")
    values = logits.detach().to("cpu", torch.float64)
    answers = torch.from_numpy(np.stack([trials.contextual, trials.fixed], -1))
    contextual, fixed = values.gather(-1, answers.expand(*values.shape[:-1], 2)).unbind(-1)
    same = torch.from_numpy(~trials.conflict)
    both = torch.where(same, contextual, contextual + fixed)
    others = trials.d_vocab - trials.first_value - 2 + same.to(torch.float64)
    middle = (values[..., trials.first_value :].sum(-1) - both) / others
    norm = values.logsumexp(-1)
    quantities = {
        "margin": contextual - fixed,
        "contextual_part": contextual - middle,
        "fixed_part": middle - fixed,
        "contextual_logit": contextual,
        "fixed_logit": fixed,
        "p_contextual": (contextual - norm).exp(),
        "p_fixed": (fixed - norm).exp(),
    }
    return {name: value.numpy().astype(np.float32) for name, value in quantities.items()}


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Slices that cover `n` trials in order."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def measure(
    logits_of: Callable[[torch.Tensor], Float[torch.Tensor, "trial d_vocab"]], trials: Trials
) -> dict[str, Float[np.ndarray, " trial"]]:
    """`read` over all trials, chunk by chunk; `logits_of` maps tokens [trial, pos] to logits at the query."""
    parts = []
    with torch.no_grad():
        for part in chunks(len(trials)):
            some = trials.take(part)
            parts.append(read(logits_of(torch.from_numpy(some.tokens)), some))
    return {name: np.concatenate([part[name] for part in parts]) for name in QUANTITIES}


def dataset(values: dict[str, np.ndarray], dims: tuple[str, ...], coords: dict | None = None) -> xr.Dataset:
    """Quantities as a Dataset whose variables carry unit and method."""
    arrays = {
        name: (dims, array, {"units": QUANTITIES[name][1], "method": QUANTITIES[name][0]})
        for name, array in values.items()
    }
    return xr.Dataset(arrays, coords=coords)


def strata(fixed_present: Facts, contextual_count: Facts) -> dict[str, Facts]:
    """Masks over trials by what the prompt holds: all, fixed answer present or absent, contextual answer repeated.

    Args:
        fixed_present: whether the fixed answer stands in the prompt, as bool or as 0 and 1.
        contextual_count: how often the contextual answer does, at least once; of the same shape.
    """
    present, repeated = fixed_present == 1, contextual_count > 1
    masks: dict[str, Any] = {  # of the facts' type, which neither library's annotations tell
        "all": present | ~present,
        "fixed answer in the prompt": present,
        "fixed answer absent": ~present,
        "contextual answer once": ~repeated,
        "contextual answer repeated": repeated,
    }
    return masks
