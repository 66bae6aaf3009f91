"""How far a replacement takes a network from where it was: the distance of its logits, and of its final stream.

Two distances at the query, per trial: KL(before ‖ after) of the distributions over the full vocabulary, in nats; and
the Euclidean length of the change of the final residual stream over the stream's own length before. A network that a
replacement takes far away is another network: what it then does says little about what it did before.

A shift of the margin by x where only the two answers count, and equally, costs log cosh(x/2) nats: 0.1 nats are about
0.9 logits. It is an observer of a sweep, and arithmetic alone: where a cell changes nothing, both are exactly 0.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from hyst_interp.interventions.cached_sweep import cached_sweep
from hyst_interp.interventions.observe import Observer, Seen
from hyst_interp.interventions.sweep import Cell
from hyst_interp.model.hooked import Hooked
from hyst_interp.tasks.trials import Trials

DISTANCES = {
    "divergence": ("KL(before ‖ after) at the query, full vocabulary", "nats"),
    "stream_change": ("|change of the final residual stream| / |the stream before| at the query", "share of its norm"),
}
"""What is measured: name → (method, unit)."""


def off_distribution(
    model: Hooked, trials: Trials, cells: Sequence[Cell]
) -> dict[str, Float[np.ndarray, "cell trial"]]:
    """Both of `DISTANCES` for every cell and trial; exactly 0 for a cell that changes nothing.

    Raises:
        UserError: an edit that does not fit model and trials.
    """
    return cached_sweep(model, trials, cells, observe=DISTANCE)


def divergence(
    before: Float[torch.Tensor, "trial d_vocab"], after: Float[torch.Tensor, "*cell trial d_vocab"]
) -> Float[torch.Tensor, "*cell trial"]:
    """KL(before ‖ after) of every trial, in nats, float64 on the CPU."""
    log_before, log_after = (
        torch.log_softmax(value.detach().to("cpu", torch.float64), -1) for value in (before, after)
    )
    return (log_before.exp() * (log_before - log_after)).sum(-1).clamp(min=0)  # rounding alone can make it negative


def _measure(seen: Seen, before: Seen, trials: Trials) -> dict[str, np.ndarray]:
    assert seen.stream is not None
    assert before.stream is not None
    own, other = (stream.detach().to("cpu", torch.float64) for stream in (before.stream, seen.stream))
    change = (other - own).norm(dim=-1) / own.norm(dim=-1)
    return {
        "divergence": divergence(before.logits, seen.logits).numpy().astype(np.float32),
        "stream_change": change.numpy().astype(np.float32),
    }


DISTANCE = Observer(_measure, compares=True)
"""Both distances, of every cell from the undisturbed run."""
