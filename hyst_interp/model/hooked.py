"""What we ask of a model: TransformerLens's hook protocol, and nothing about how it was built.

`HookedTransformer` satisfies it; so does anything with the same hook names and block attributes.
"""

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float


@runtime_checkable
class Hooked(Protocol):
    """A module whose activations pass through named hook points (`hook_dict`), as in TransformerLens."""

    cfg: Any
    hook_dict: dict[str, Any]
    blocks: Any

    def __call__(self, input: Any, /, **kwargs: Any) -> Any:
        """Logits [batch, pos, d_vocab] of tokens [batch, pos]."""
        ...


def device_of(model: Hooked) -> torch.device:
    """Where the model's parameters are."""
    return next(iter(model.parameters())).device  # type: ignore[attr-defined]


def output_matrix(model: Hooked, layer: int) -> Float[torch.Tensor, "head d_head d_model"]:
    """W_O of one layer, detached: what turns `hook_z` into a contribution to the residual stream."""
    return model.blocks[layer].attn.W_O.detach()
