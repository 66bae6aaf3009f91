"""Direct logit attribution: margin and gap as exact sums over everything that writes to the residual stream.

At the query the final residual stream is a sum of terms x_i (embeddings, what every head and MLP writes, the attention
biases), and the margin reads it linearly once the final LayerNorm's scale σ is frozen at its own value:

    margin = Σ_i centred(x_i) · (w ∘ d) / σ + bias,    d = W_U[:, c] − W_U[:, f],    bias = b · d + b_U[c] − b_U[f].

Of each term of the gap, the product a·r·s of activation, read-out r = w ∘ d, and s = 1/σ splits exactly by midpoints:
Δ(a·r·s) = Δa · mean(r·s) + mean(a) · (Δr · mean(s)) + mean(a) · (mean(r) · Δs): an activation part, a read-out part,
and the share of the frozen scale. Only direct effects are seen: what a head changes in later layers is theirs.
"""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.interventions.hooks import contribution
from hyst_interp.interventions.install import capture
from hyst_interp.model.hooked import Hooked, device_of, output_matrix
from hyst_interp.readout import chunks
from hyst_interp.sites import hook_mlp_out, hook_z
from hyst_interp.tasks.trials import Trials

PARTS = ("activation", "readout", "scale")
BIAS = "bias"


@dataclass(frozen=True)
class Reading:
    """What one network writes at the query and how it is read, per trial."""

    terms: Float[torch.Tensor, "trial term d_model"]
    """Centred terms of the final residual stream."""
    readout: Float[torch.Tensor, "trial d_model"]
    """w ∘ (W_U[:, c] − W_U[:, f])."""
    inverse_scale: Float[torch.Tensor, " trial"]
    """1/σ of the final LayerNorm."""
    bias: Float[torch.Tensor, " trial"]
    """b · d + b_U[c] − b_U[f]."""

    def direct(self) -> Float[torch.Tensor, "trial term"]:
        """Every term's direct contribution to the margin; with the bias it sums to the margin."""
        return torch.einsum("tim,tm->ti", self.terms, self.readout) * self.inverse_scale[:, None]


def term_names(model: Hooked) -> list[str]:
    """Names of the terms: embeddings, heads and attention biases layer by layer, MLPs, and the bias of the read-out."""
    cfg = model.cfg
    heads = [f"L{layer}H{head}" for layer in range(cfg.n_layers) for head in range(cfg.n_heads)]
    biases = [f"L{layer} b_O" for layer in range(cfg.n_layers)]
    mlps = [] if cfg.attn_only else [f"L{layer}MLP" for layer in range(cfg.n_layers)]
    return ["embed", "pos", *heads, *biases, *mlps, BIAS]


def reading(model: Hooked, trials: Trials) -> Reading:
    """The terms of one network on these trials, in float64."""
    cfg, blocks = model.cfg, model.blocks
    layers = range(cfg.n_layers)
    last = f"blocks.{cfg.n_layers - 1}.hook_resid_post"
    mlps = [] if cfg.attn_only else [hook_mlp_out(layer) for layer in layers]
    names = ["hook_embed", "hook_pos_embed", last, *(hook_z(layer) for layer in layers), *mlps]
    tokens = torch.from_numpy(trials.tokens).to(device_of(model))
    _, acts = capture(model, tokens, names)
    at_query = {name: act[:, -1:] for name, act in acts.items()}
    written = [at_query["hook_embed"], at_query["hook_pos_embed"].expand_as(at_query["hook_embed"])]
    for layer in layers:
        w_o = output_matrix(model, layer)
        written.extend(contribution(at_query[hook_z(layer)][:, :, head], w_o[head]) for head in range(cfg.n_heads))
    written.extend(blocks[layer].attn.b_O.detach().expand_as(written[0]) for layer in layers)
    written.extend(at_query[name] for name in mlps)
    terms = torch.cat(written, dim=1).to(torch.float64)
    resid = at_query[last][:, 0].to(torch.float64)
    unembed = model.unembed  # type: ignore[attr-defined]
    c, f = torch.from_numpy(trials.contextual), torch.from_numpy(trials.fixed)
    w_u, b_u = unembed.W_U.detach().to(torch.float64), unembed.b_U.detach().to(torch.float64)
    difference = (w_u[:, c] - w_u[:, f]).t()
    bias = b_u[c] - b_u[f]
    if cfg.normalization_type != "LN":
        return Reading(terms, difference, torch.ones(len(trials), dtype=torch.float64), bias)
    norm = model.ln_final  # type: ignore[attr-defined]
    weight, offset = norm.w.detach().to(torch.float64), norm.b.detach().to(torch.float64)
    centred = resid - resid.mean(-1, keepdim=True)
    scale = (centred.pow(2).mean(-1) + cfg.eps).sqrt()
    return Reading(
        terms - terms.mean(-1, keepdim=True), difference * weight, 1 / scale, bias + (difference * offset).sum(-1)
    )


def split(below: Reading, above: Reading) -> Float[torch.Tensor, "trial term part"]:
    """The gap by term and part (`PARTS`), the read-out's bias as the last term; sums to the gap."""
    read_a, read_b = below.readout * below.inverse_scale[:, None], above.readout * above.inverse_scale[:, None]
    moved, middle = below.terms - above.terms, (below.terms + above.terms) / 2
    mean_scale = (below.inverse_scale + above.inverse_scale)[:, None] / 2
    activation = torch.einsum("tim,tm->ti", moved, (read_a + read_b) / 2)
    readout = torch.einsum("tim,tm->ti", middle, (below.readout - above.readout) * mean_scale)
    step = (below.inverse_scale - above.inverse_scale)[:, None]
    scale = torch.einsum("tim,tm->ti", middle, (below.readout + above.readout) / 2 * step)
    parts = torch.stack([activation, readout, scale], dim=-1)
    bias = torch.zeros_like(parts[:, :1])
    bias[:, 0, PARTS.index("readout")] = below.bias - above.bias
    return torch.cat([parts, bias], dim=1)


def direct_attribution(pair: PairData) -> xr.Dataset:
    """`direct` (branch, term, trial): each margin as a sum of terms; `split` (term, part, trial): the gap."""
    direct, parts = [], []
    for part in chunks(len(pair.trials)):
        sides = [reading(model, pair.trials.take(part)) for model in (pair.below, pair.above)]
        direct.append(torch.stack([torch.cat([side.direct(), side.bias[:, None]], dim=1) for side in sides]))
        parts.append(split(*sides))
    unit = {"units": "logits"}
    return xr.Dataset(
        {
            "direct": (
                ("branch", "term", "trial"),
                torch.cat(direct, dim=1).transpose(1, 2).numpy().astype(np.float32),
                {**unit, "method": "direct contribution to the margin, final LayerNorm scale frozen at its own value"},
            ),
            "split": (
                ("term", "part", "trial"),
                torch.cat(parts).permute(1, 2, 0).numpy().astype(np.float32),
                {**unit, "method": "midpoint split of every term's difference"},
            ),
        },
        coords={"branch": list(BRANCHES), "term": term_names(pair.below), "part": list(PARTS)},
    )
