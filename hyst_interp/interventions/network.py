"""A plain network's own arithmetic, one layer at a time, on any last stretch of positions.

TransformerLens runs a whole network; a sweep mostly needs a part of it: from some layer on, from some position on, in
the last layer the query alone. `Network` holds the parameters in the shape in which they are multiplied, and offers the
steps of a forward pass; `BaseRun` records a whole pass of the model itself, which shorter runs start from. Hooks do not
fire in those, and only the plain build is computed: `model.plain_build.covers_model` says of which models it is true.
"""

import torch
from jaxtyping import Bool, Float, Int

from hyst_interp.interventions.install import capture
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.model.layers import joint_heads, layer_norm, written_by_heads, written_by_mlp
from hyst_interp.model.plain_build import ACTIVATIONS
from hyst_interp.sites import hook_mlp_out, hook_pattern, hook_resid, hook_z


class Network:
    """The steps of a covered model's forward pass, without gradients; activations are [cell, trial, pos, …]."""

    def __init__(self, model: Hooked) -> None:
        self.model, self.cfg, self.device = model, model.cfg, device_of(model)
        self.n_layers, self.n_heads, self.d_head = self.cfg.n_layers, self.cfg.n_heads, self.cfg.d_head
        self.scale = float(self.cfg.attn_scale) if self.cfg.use_attn_scale else 1.0
        self.w_qkv, self.b_qkv = [], []
        for block in model.blocks:
            attn = block.attn
            self.w_qkv.append(joint_heads(attn.W_Q.detach(), attn.W_K.detach(), attn.W_V.detach()))
            self.b_qkv.append(torch.cat([b.detach().flatten() for b in (attn.b_Q, attn.b_K, attn.b_V)]))

    def embed(self, tokens: Int[torch.Tensor, "trial pos"]) -> Float[torch.Tensor, "trial pos d_model"]:
        """The first residual stream."""
        model, tokens = self.model, tokens.to(self.device)
        return model.W_E.detach()[tokens] + model.W_pos.detach()[: tokens.shape[1]]  # type: ignore[attr-defined]

    def norm_attention(self, layer: int, resid: torch.Tensor) -> torch.Tensor:
        """The residual stream as attention reads it."""
        return self._norm(self.model.blocks[layer].ln1, resid)

    def heads(
        self, layer: int, normed: Float[torch.Tensor, "*rows d_model"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys, and values, each [*rows, head, d_head]."""
        joint = torch.addmm(self.b_qkv[layer], normed.flatten(0, -2), self.w_qkv[layer])
        parts = joint.view(*normed.shape[:-1], 3, self.n_heads, self.d_head)
        return parts.unbind(-3)  # type: ignore[return-value]

    def write_heads(self, layer: int, z: Float[torch.Tensor, "*rows head d_head"]) -> torch.Tensor:
        """What attention adds to the residual stream, b_O included."""
        attn = self.model.blocks[layer].attn
        rows = z.flatten(-2).flatten(0, -2)
        return written_by_heads(rows, attn.W_O.detach(), attn.b_O.detach()).view(*z.shape[:-2], -1)

    def mlp(self, layer: int, mid: Float[torch.Tensor, "*rows d_model"]) -> torch.Tensor:
        """What the MLP adds to the residual stream."""
        block, act = self.model.blocks[layer], ACTIVATIONS[self.cfg.act_fn]
        rows, mlp = self._norm(block.ln2, mid).flatten(0, -2), block.mlp
        w_in, b_in, w_out, b_out = (parameter.detach() for parameter in (mlp.W_in, mlp.b_in, mlp.W_out, mlp.b_out))
        return written_by_mlp(rows, w_in, b_in, act, w_out, b_out).view(mid.shape)

    def logits(self, final: Float[torch.Tensor, "*rows d_model"]) -> Float[torch.Tensor, "*rows d_vocab"]:
        """Logits of the final residual stream."""
        unembed = self.model.unembed  # type: ignore[attr-defined]
        normed = self._norm(self.model.ln_final, final)  # type: ignore[attr-defined]
        return torch.addmm(unembed.b_U.detach(), normed.flatten(0, -2), unembed.W_U.detach()).view(
            *final.shape[:-1], -1
        )

    def _norm(self, norm, x: torch.Tensor) -> torch.Tensor:
        return layer_norm(x, norm.w.detach(), norm.b.detach(), self.cfg.eps)


class BaseRun:
    """One whole pass of the model itself over some prompts, recorded: what shorter runs are continued from.

    Lists are by layer: `resid` [trial, pos, d_model] (n_layers + 1 rows, the last the final `resid_post`), `mid`
    (after attention), `mlp_out`, `normed` (as attention reads it), `keys`, `values`, `z` [trial, pos, head, d_head],
    `pattern` [trial, head, query_pos, key_pos]; `logits` [trial, d_vocab] are those at the query.
    """

    def __init__(self, network: Network, tokens: Int[torch.Tensor, "trial pos"]) -> None:
        self.network, layers = network, range(network.n_layers)
        stream = [hook_resid(row, len(layers)) for row in (*layers, len(layers))]
        places = {
            "keys": [f"blocks.{layer}.attn.hook_k" for layer in layers],
            "values": [f"blocks.{layer}.attn.hook_v" for layer in layers],
            "z": [hook_z(layer) for layer in layers],
            "pattern": [hook_pattern(layer) for layer in layers],
            "mid": [] if network.cfg.attn_only else [f"blocks.{layer}.hook_resid_mid" for layer in layers],
            "mlp_out": [] if network.cfg.attn_only else [hook_mlp_out(layer) for layer in layers],
        }
        names = [name for group in (stream, *places.values()) for name in group]
        logits, activations = capture(network.model, tokens.to(network.device), names)
        self.logits = logits[:, -1]
        self.resid = [activations[name] for name in stream]
        self.keys, self.values, self.z, self.pattern, self.mid, self.mlp_out = (
            [activations[name] for name in group] for group in places.values()
        )
        self.normed = [network.norm_attention(layer, self.resid[layer]) for layer in layers]


def causal(n_pos: int, start: int, device: torch.device) -> Bool[torch.Tensor, "query_pos key_pos"]:
    """Which key positions each query position from `start` on may attend to."""
    return torch.ones(n_pos, n_pos, dtype=torch.bool, device=device).tril()[start:]
