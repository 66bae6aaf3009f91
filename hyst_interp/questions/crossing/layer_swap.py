"""Swapped layers: how much of the way to the donor is gone when everything up to a depth is the donor's.

A depth's network computes the donor's stream, at every position, up to its cut, and the receiver's weights read it from
there on. The first depth moves nothing and gives the receiver's own logits, the last moves everything, the final
LayerNorm and the unembedding included, and gives the donor's logits: both exactly, by the same operations on the same
numbers. So what the depths add, from one to the next, is the whole gap, and says where along the depth it enters.
Depths between layers are the residual stream of `cross_model_patching` moved everywhere; this goes on where that ends.

Layers are swapped in one order, and an addition depends on what is below and above it. The other direction swaps them
with the roles exchanged: its mean with the first weighs both, and their difference is reported. In results the
dimension of depths is `rung`.
"""

from collections.abc import Mapping

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch.func import functional_call

from hyst_interp.analysis.pair_data import PairData, refuse_other_shapes
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.readout import chunks, read

NOTHING, EVERYTHING = "nothing", "unembedding"
"""First and last depth."""


def depths(n_layers: int, mlps: bool) -> tuple[str, ...]:
    """Names of the depths, each the last thing that is the donor's: `nothing`, `embeddings`, `L0 attention`, …"""
    layers = [f"L{layer} {part}" for layer in range(n_layers) for part in ("attention", *(["MLP"] if mlps else []))]
    return (NOTHING, "embeddings", *layers, "final norm", EVERYTHING)


def depth_of(parameter: str) -> str:
    """The depth at which a parameter becomes the donor's; LayerNorms go with what reads through them.

    Raises ValueError for a name that is no parameter of these networks.
    """
    head, *rest = parameter.split(".")
    match head:
        case "embed" | "pos_embed":
            return "embeddings"
        case "blocks" if rest[1] in ("ln1", "attn"):
            return f"L{rest[0]} attention"
        case "blocks" if rest[1] in ("ln2", "mlp"):
            return f"L{rest[0]} MLP"
        case "ln_final":
            return "final norm"
        case "unembed":
            return EVERYTHING
    raise ValueError(f"parameter '{parameter}' has no depth; add it to depth_of")


def layer_swap(pair: PairData) -> xr.Dataset:
    """Margins at every depth, both directions, per trial.

    Returns:
        `margin` (branch, trial), the networks' own; `margin_after` (branch, rung, trial), `branch` the receiver;
        `end_error` (branch, end), the largest |difference of a logit| at the query, over trials and vocabulary: of the
        depth `nothing` from the receiver's own run, and of the last depth from the donor's own run. 0 exactly.

    Raises:
        UserError: networks of different shapes.
    """
    refuse_other_shapes(pair)
    names = depths(pair.below.cfg.n_layers, not pair.below.cfg.attn_only)
    models = {"below": pair.below, "above": pair.above}
    margin = np.empty((len(BRANCHES), len(pair.trials)), np.float32)
    after = np.empty((len(BRANCHES), len(names), len(pair.trials)), np.float32)
    error = np.zeros((len(BRANCHES), 2))
    hybrids = {
        branch: [hybrid(models[branch], models[BRANCHES[1 - index]], names[: at + 1]) for at in range(len(names))]
        for index, branch in enumerate(BRANCHES)
    }
    for part in chunks(len(pair.trials)):
        trials = pair.trials.take(part)
        tokens = torch.from_numpy(trials.tokens)
        own = {branch: _logits(model, {}, tokens) for branch, model in models.items()}
        for index, branch in enumerate(BRANCHES):
            margin[index, part] = read(own[branch], trials)["margin"]
            for at, weights in enumerate(hybrids[branch]):
                logits = _logits(models[branch], weights, tokens)
                after[index, at, part] = read(logits, trials)["margin"]
                for end, (place, whose) in enumerate(((0, branch), (len(names) - 1, BRANCHES[1 - index]))):
                    if at == place:
                        difference = float((logits - own[whose].to(logits.device)).abs().max())
                        error[index, end] = max(error[index, end], difference)
    unit = {"units": "logits"}
    return xr.Dataset(
        {
            "margin": (("branch", "trial"), margin, {**unit, "method": "margin of the networks themselves"}),
            "margin_after": (
                ("branch", "rung", "trial"),
                after,
                {**unit, "method": "margin with the donor's weights up to and with the rung"},
            ),
            "end_error": (("branch", "end"), error, {**unit, "method": "largest |difference of a logit|"}),
        },
        {"branch": list(BRANCHES), "rung": list(names), "end": ["receiver", "donor"]},
    )


def hybrid(receiver: Hooked, donor: Hooked, up_to: tuple[str, ...]) -> dict[str, torch.Tensor]:
    """Named parameters, those of the depths in `up_to` the donor's, the others the receiver's; no tensor is copied."""
    own, other = (dict(model.named_parameters()) for model in (receiver, donor))  # type: ignore[attr-defined]
    device = device_of(receiver)
    return {name: (other[name].to(device) if depth_of(name) in up_to else own[name]).detach() for name in own}


def _logits(
    model: Hooked, weights: Mapping[str, torch.Tensor], tokens: torch.Tensor
) -> Float[torch.Tensor, "trial d_vocab"]:
    """Logits at the query of `model` with some parameters exchanged for this one call."""
    with torch.no_grad():
        return functional_call(model, dict(weights), (tokens.to(device_of(model)),))[:, -1]  # type: ignore[arg-type]
