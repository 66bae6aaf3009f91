"""A head's two circuits, read from the weights alone: what attends to what (QK), and what attending writes (OV).

Both are matrices over token ids. A token enters as its embedding W_E through the layer's own LayerNorm, *as if nothing
else stood in the residual stream*: no position, and nothing that earlier layers wrote. So in layer 0 they leave out the
position; in later layers they are the direct path only, and the sizes of their numbers are not those of a run, where
LayerNorm divides by all that the stream holds. Their pattern is what can be read. No network is run here.

Source of the decomposition: Elhage et al., "A Mathematical Framework for Transformer Circuits" (2021).
"""

from typing import Any

import torch
from jaxtyping import Float

from hyst_interp.model.hooked import Hooked


def qk_circuit(model: Hooked, layer: int, head: int) -> Float[torch.Tensor, "query_token key_token"]:
    """Attention scores before softmax, for every query token and key token: (x W_Q + b_Q)(y W_K)ᵀ / √d_head.

    x and y are embeddings after the layer's LayerNorm. b_K is left out: it shifts all keys of a query alike, which
    softmax does not see. IndexError for a head or layer that the model does not have.
    """
    attention = model.blocks[layer].attn
    with torch.no_grad():
        x = _token_inputs(model, layer)
        queries = x @ attention.W_Q[head] + attention.b_Q[head]
        return queries @ (x @ attention.W_K[head]).T / attention.W_K.shape[-1] ** 0.5


def ov_circuit(model: Hooked, layer: int, head: int) -> Float[torch.Tensor, "source_token token"]:
    """What full attention to a source token adds to every token's logit: x W_V W_O W_U, its mean over tokens taken off.

    x is the embedding after the layer's LayerNorm. The final LayerNorm centres and weighs what the head writes; its
    division by the size of the stream is left out, so units are logits times that size. b_V is left out: it belongs to
    no token.
    """
    attention, final = model.blocks[layer].attn, getattr(model, "ln_final", None)
    with torch.no_grad():
        written = _token_inputs(model, layer) @ attention.W_V[head] @ attention.W_O[head]
        if final is not None:
            written = (written - written.mean(-1, keepdim=True)) * _weight(final)
        logits = written @ model.W_U  # type: ignore[attr-defined]
        return logits - logits.mean(-1, keepdim=True)


def _token_inputs(model: Hooked, layer: int) -> Float[torch.Tensor, "token d_model"]:
    """Every token's embedding after the layer's LayerNorm."""
    embeddings: torch.Tensor = model.W_E  # type: ignore[attr-defined]
    return model.blocks[layer].ln1(embeddings[None])[0]


def _weight(norm: Any) -> torch.Tensor | float:
    """The LayerNorm's weights; 1 where they were folded away."""
    return getattr(norm, "w", 1.0)
