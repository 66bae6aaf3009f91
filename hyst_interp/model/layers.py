"""The parts of a block that the package's forwards have in common, as pure functions of tensors.

Each forward keeps what it is for: the query alone, differentiable (`model.query_forward`); many cells at once, from the
middle on (`interventions.network`); every input apart (`questions.edges.edge_forward`, which adds source by source and
so shares the normalization alone). Gradients flow where the arguments carry them.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch.nn import functional


def layer_norm(
    x: Float[torch.Tensor, "*rows d_model"], weight: torch.Tensor | None, bias: torch.Tensor | None, eps: float
) -> Float[torch.Tensor, "*rows d_model"]:
    """x centred and scaled over its last axis, then weight · x + bias where there are any."""
    return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


def joint_heads(
    w_q: Float[torch.Tensor, "head d_model d_head"],
    w_k: Float[torch.Tensor, "head d_model d_head"],
    w_v: Float[torch.Tensor, "head d_model d_head"],
) -> torch.Tensor:
    """One matrix [d_model, 3 · head · d_head] that makes queries, keys, and values at once."""
    return torch.cat([w.transpose(0, 1).flatten(1) for w in (w_q, w_k, w_v)], dim=1)


def written_by_heads(
    z: torch.Tensor, w_o: Float[torch.Tensor, "head d_head d_model"], b_o: Float[torch.Tensor, " d_model"]
) -> torch.Tensor:
    """What attention adds to the residual stream [*rows, d_model]; `z` is [*rows, head · d_head]."""
    return functional.linear(z, w_o.flatten(0, 1).t(), b_o)


def written_by_mlp(
    normed: Float[torch.Tensor, "*rows d_model"],
    w_in: Float[torch.Tensor, "d_model d_mlp"],
    b_in: Float[torch.Tensor, " d_mlp"],
    act: Callable[[torch.Tensor], torch.Tensor],
    w_out: Float[torch.Tensor, "d_mlp d_model"],
    b_out: Float[torch.Tensor, " d_model"],
) -> Float[torch.Tensor, "*rows d_model"]:
    """What an MLP adds to the residual stream, from the stream as its LayerNorm leaves it."""
    return functional.linear(act(functional.linear(normed, w_in.t(), b_in)), w_out.t(), b_out)
