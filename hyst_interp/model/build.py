"""The only constructors of TransformerLens models.

A model is built without initial weights and then filled, either from an own generator or from stored parameters:
TransformerLens's own initialisation uses the global generator. Weights are never folded, centred, or otherwise
processed, so logits are those that were trained.
"""

import math
from collections.abc import Mapping

import torch
from transformer_lens import HookedTransformer, HookedTransformerConfig

from hyst_interp.config import ModelConfig, SetUp
from hyst_interp.streams import Stream

__all__ = ["HookedTransformer", "Weights", "empty_model", "initial_weights", "model_from", "model_of"]

Weights = Mapping[str, torch.Tensor]
"""Parameters by their TransformerLens names (`blocks.0.attn.W_Q`, …)."""


def empty_model(config: ModelConfig, d_vocab: int, n_ctx: int) -> HookedTransformer:
    """A HookedTransformer of this shape on the CPU whose parameters hold no values yet."""
    return HookedTransformer(
        HookedTransformerConfig(
            n_layers=config.n_layers,
            n_heads=config.n_heads,
            d_model=config.d_model,
            d_head=config.d_head,
            d_mlp=config.d_mlp or None,
            attn_only=config.d_mlp == 0,
            act_fn=config.act_fn if config.d_mlp else None,  # type: ignore[arg-type]
            normalization_type=None if config.normalization_type == "none" else config.normalization_type,
            d_vocab=d_vocab,
            n_ctx=n_ctx,
            device="cpu",
            init_weights=False,
            default_prepend_bos=False,
        ),
        move_to_device=False,
    )


def initial_weights(config: ModelConfig, d_vocab: int, n_ctx: int, stream: Stream) -> dict[str, torch.Tensor]:
    """Initial parameters: matrices normal with `init_std`, biases 0, LayerNorm weights 1; a pure function."""
    generator = torch.Generator().manual_seed(stream.key() % 2**63)
    std = config.init_std or 0.8 / math.sqrt(config.d_model)
    weights: dict[str, torch.Tensor] = {}
    for name, parameter in empty_model(config, d_vocab, n_ctx).named_parameters():
        if ".ln" in name or name.startswith("ln_"):
            weights[name] = torch.full_like(parameter, 1.0 if name.endswith(".w") else 0.0)
        elif name.rsplit(".", 1)[1].startswith("b_"):
            weights[name] = torch.zeros_like(parameter)
        else:
            weights[name] = torch.empty_like(parameter).normal_(0.0, std, generator=generator)
    return {name: value.detach() for name, value in weights.items()}


def model_from(config: ModelConfig, d_vocab: int, n_ctx: int, weights: Weights) -> HookedTransformer:
    """A HookedTransformer that holds a copy of `weights`; ValueError where names or shapes do not fit."""
    model = empty_model(config, d_vocab, n_ctx)
    parameters = dict(model.named_parameters())
    if parameters.keys() != weights.keys():
        odd = sorted(parameters.keys() ^ weights.keys())
        raise ValueError(f"weights do not fit the model: parameter '{odd[0]}' is on one side only")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != weights[name].shape:
                raise ValueError(
                    f"weights do not fit the model: '{name}' is {tuple(weights[name].shape)}, expected"
                    f" {tuple(parameter.shape)}"
                )
            parameter.copy_(weights[name])
    return model.eval()


def model_of(setup: SetUp, weights: Weights) -> HookedTransformer:
    """The HookedTransformer of a training seed, holding a copy of `weights`."""
    return model_from(setup.model, setup.task.d_vocab, setup.task.n_ctx, weights)
