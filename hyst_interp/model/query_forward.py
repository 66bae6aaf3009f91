"""The query-position forward: the logits at the last position, and nothing that they do not depend on.

One pure function of a model's own parameters, equal to the HookedTransformer's forward up to rounding. Three facts make
it cheap:

1. Only the query's logits are asked for, so the last layer needs its queries, its MLP, and the unembedding at one
   position. Its keys and values enter through single-query attention, where W_K and W_V can act on the query's side:
   q·(W_K x) = (W_Kᵀq)·x and Σ a (W_V x) = W_V Σ a x. Nothing of size [batch, pos, head] is projected.
2. The first layer's input depends on (token, position) alone, so its LayerNorm, queries, keys, and values come from a
   table with d_vocab · n_ctx rows.
3. b_K shifts all scores of a query by the same amount; softmax does not see it. It is left out, and its gradient is
   exactly zero (in the model's own forward it is zero up to rounding, which Adam would amplify).

It covers causal models with learned positions, LayerNorm, and an MLP in every block. `covers` says so of a config, for
weights that are at hand; `query_logits` takes any model and falls back to the model's own forward elsewhere.
"""

import math

import torch
from jaxtyping import Float, Int
from torch.nn import functional

from hyst_interp.config import ModelConfig
from hyst_interp.model.build import Weights
from hyst_interp.model.hooked import Hooked
from hyst_interp.model.layers import joint_heads, layer_norm, written_by_heads, written_by_mlp
from hyst_interp.model.plain_build import ACTIVATIONS, covers_model

_EPS = 1e-5


def covers(config: ModelConfig) -> bool:
    """Whether the query-position forward computes models of this shape."""
    return config.normalization_type == "LN" and config.d_mlp > 0 and config.act_fn in ACTIVATIONS


def query_logits(
    config: ModelConfig, model: Hooked, tokens: Int[torch.Tensor, "batch pos"]
) -> Float[torch.Tensor, "batch d_vocab"]:
    """Logits at the last position, differentiable in the model's parameters.

    A model that carries hooks, or that is no plain model of this config, is run whole.
    """
    if covers(config) and covers_model(model) and _describes(config, model):
        return query_forward(config, dict(model.named_parameters()), tokens)  # type: ignore[attr-defined]
    return model(tokens)[:, -1]


def _describes(config: ModelConfig, model: Hooked) -> bool:
    """Whether the config says of the model what `query_forward` takes from it or holds fixed."""
    cfg = model.cfg
    sizes = ("n_layers", "n_heads", "d_model", "d_head", "d_mlp", "act_fn")
    alike = not cfg.attn_only and all(getattr(cfg, name) == getattr(config, name) for name in sizes)
    return alike and cfg.eps == _EPS and cfg.use_attn_scale and math.isclose(cfg.attn_scale, math.sqrt(config.d_head))


def query_forward(
    config: ModelConfig, weights: Weights, tokens: Int[torch.Tensor, "batch pos"]
) -> Float[torch.Tensor, "batch d_vocab"]:
    """Logits at the last position from named parameters; ValueError for a shape that it does not cover."""
    if not covers(config):
        raise ValueError(f"the query-position forward does not cover {config!r}; use the model's own forward")
    last = config.n_layers - 1
    resid, table = _embed(weights, tokens)
    for layer in range(last):
        resid = _full_layer(config, weights, layer, resid, table if layer == 0 else None)
    query = _last_attention(config, weights, last, resid)
    query = query + _mlp(config, weights, last, query)
    query = _norm(weights, "ln_final", query)
    return torch.addmm(weights["unembed.b_U"], query, weights["unembed.W_U"])


def _norm(weights: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
    return layer_norm(x, weights[f"{name}.w"], weights[f"{name}.b"], _EPS)


def _embed(
    weights: Weights, tokens: torch.Tensor
) -> tuple[Float[torch.Tensor, "batch pos d_model"], tuple[torch.Tensor, torch.Tensor]]:
    """The first residual stream, with the table it was taken from and the rows that were taken."""
    n_pos = tokens.shape[1]
    table = (weights["embed.W_E"][:, None] + weights["pos_embed.W_pos"][None, :n_pos]).flatten(0, 1)
    rows = tokens * n_pos + torch.arange(n_pos, device=tokens.device)
    return functional.embedding(rows, table), (table, rows)


def _full_layer(
    config: ModelConfig,
    weights: Weights,
    layer: int,
    resid: Float[torch.Tensor, "batch pos d_model"],
    table: tuple[torch.Tensor, torch.Tensor] | None,
) -> Float[torch.Tensor, "batch pos d_model"]:
    """One block at every position."""
    attn, n_heads = f"blocks.{layer}.attn", config.n_heads
    source = resid if table is None else table[0]
    normed = _norm(weights, f"blocks.{layer}.ln1", source)
    joint = joint_heads(weights[f"{attn}.W_Q"], weights[f"{attn}.W_K"], weights[f"{attn}.W_V"])
    b_q, b_v = weights[f"{attn}.b_Q"].flatten(), weights[f"{attn}.b_V"].flatten()
    qkv = functional.linear(normed, joint.t(), torch.cat([b_q, torch.zeros_like(b_q), b_v]))
    if table is not None:
        qkv = functional.embedding(table[1], qkv)
    batch, n_pos, _ = resid.shape
    q, k, v = qkv.view(batch, n_pos, 3, n_heads, config.d_head).permute(2, 0, 3, 1, 4)
    z = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    z = z.transpose(1, 2).reshape(batch, n_pos, n_heads * config.d_head)
    resid = resid + written_by_heads(z, weights[f"{attn}.W_O"], weights[f"{attn}.b_O"])
    return resid + _mlp(config, weights, layer, resid)


def _last_attention(
    config: ModelConfig, weights: Weights, layer: int, resid: Float[torch.Tensor, "batch pos d_model"]
) -> Float[torch.Tensor, "batch d_model"]:
    """The query's residual stream after the last attention; keys and values are never formed."""
    attn = f"blocks.{layer}.attn"
    normed = _norm(weights, f"blocks.{layer}.ln1", resid)
    q = torch.einsum("bm,hmd->bhd", normed[:, -1], weights[f"{attn}.W_Q"]) + weights[f"{attn}.b_Q"]
    asked = torch.einsum("bhd,hmd->bhm", q, weights[f"{attn}.W_K"]) / math.sqrt(config.d_head)
    pattern = torch.softmax(asked @ normed.transpose(1, 2), dim=-1)
    z = torch.einsum("bhm,hmd->bhd", pattern @ normed, weights[f"{attn}.W_V"]) + weights[f"{attn}.b_V"]
    return resid[:, -1] + written_by_heads(z.flatten(1), weights[f"{attn}.W_O"], weights[f"{attn}.b_O"])


def _mlp(config: ModelConfig, weights: Weights, layer: int, resid: torch.Tensor) -> torch.Tensor:
    w_in, b_in, w_out, b_out = (weights[f"blocks.{layer}.mlp.{name}"] for name in ("W_in", "b_in", "W_out", "b_out"))
    normed = _norm(weights, f"blocks.{layer}.ln2", resid)
    return written_by_mlp(normed, w_in, b_in, ACTIVATIONS[config.act_fn], w_out, b_out)
