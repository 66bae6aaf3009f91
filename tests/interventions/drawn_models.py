"""Models of all kinds of build, and what a user may do to one: what the fast paths have to notice."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn.utils import parametrize
from transformer_lens import HookedTransformer, HookedTransformerConfig

N_LAYERS, N_HEADS, D_MODEL, D_HEAD, D_MLP, D_VOCAB, N_POS = 2, 2, 32, 16, 48, 13, 7

BUILDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "relu": {"act_fn": "relu"},
    "silu": {"act_fn": "silu"},
    "attention only": {"attn_only": True},
    "another eps": {"eps": 0.3},
    "another scale": {"attn_scale": 1.5},
    "no scale": {"use_attn_scale": False},
    "results apart": {"use_attn_result": True},
    "inputs apart": {"use_split_qkv_input": True},
    "attention's input": {"use_attn_in": True},
    "tokens hooked": {"use_hook_tokens": True},
    "scaled by layer": {"scale_attn_by_inverse_layer_idx": True},
    "no norm": {"normalization_type": None},
    "LNPre": {"normalization_type": "LNPre"},
    "RMS": {"normalization_type": "RMS"},
    "RMSPre": {"normalization_type": "RMSPre"},
    "final RMS": {"final_rms": True},
    "rotary": {"positional_embedding_type": "rotary"},
    "shortformer": {"positional_embedding_type": "shortformer"},
    "alibi": {"positional_embedding_type": "alibi"},
    "gated": {"gated_mlp": True},
    "parallel": {"parallel_attn_mlp": True},
    "grouped queries": {"n_key_value_heads": 1},
    "local": {"use_local_attn": True, "window_size": 2, "attn_types": ["local", "global"]},
    "capped scores": {"attn_scores_soft_cap": 0.5},
    "capped logits": {"output_logits_soft_cap": 1.0},
    "gelu_new": {"act_fn": "gelu_new"},
    "gelu_fast": {"act_fn": "gelu_fast"},
    "solu": {"act_fn": "solu"},
    "solu_ln": {"act_fn": "solu_ln"},
    "bidirectional": {"attention_dir": "bidirectional"},
    "both norms": {"use_normalization_before_and_after": True, "normalization_type": "RMS"},
    "norm of queries": {"use_qk_norm": True},
    "clipped": {"clip_qkv": 0.3},
    "norm of embeddings": {"post_embedding_ln": True},
    "sinks": {"use_attention_sinks": True},
    "post-norm": {"original_architecture": "Olmo2ForCausalLM"},
    "log n": {"use_logn_attn": True, "train_seq_length": 2},
    "experts": {"num_experts": 2, "experts_per_token": 1},
    "float64": {"dtype": torch.float64},
    "bfloat16": {"dtype": torch.bfloat16},
}
COVERED = frozenset(list(BUILDS)[: list(BUILDS).index("scaled by layer")])
"""Builds that the fast paths compute; no other."""


def built(change: dict[str, Any], seed: int = 5) -> HookedTransformer:
    """A network of the small task's size whose every parameter is random and no bias 0."""
    fields = {"act_fn": "gelu", "d_head": D_HEAD, "d_mlp": D_MLP, "n_heads": N_HEADS, **change}
    model = HookedTransformer(
        HookedTransformerConfig(
            n_layers=N_LAYERS,
            d_model=D_MODEL,
            d_vocab=D_VOCAB,
            n_ctx=N_POS,
            device="cpu",
            init_weights=False,
            default_prepend_bos=False,
            **fields,
        )
    )
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = 0.3 * torch.randn(parameter.shape, generator=random)
            parameter.copy_(noise + 1 if name.endswith(".w") else noise)
    return model.eval()


def _turned(module: Any, args: Any, output: torch.Tensor) -> torch.Tensor:
    return output.roll(1, -1)  # a mere factor would pass a norm unseen


def _wrap(module: Any) -> None:
    own = module.forward
    module.forward = lambda *args, **kwargs: own(*args, **kwargs).roll(1, -1)


def _twice(module: Any) -> None:
    own = module.forward
    module.forward = lambda resid, **kwargs: own(own(resid, **kwargs), **kwargs)


class _Doubled(torch.nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return 2 * weight


class _Shifted(HookedTransformer):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return super().forward(*args, **kwargs) * 1.5


def _scaled_input(module: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    return args, {**kwargs, "query_input": 2 * kwargs["query_input"]}


def _set(name: str, value: Any) -> Callable[[Any], None]:
    return lambda module: setattr(module, name, value)


CHANGES: dict[str, Callable[[HookedTransformer], Any]] = {
    "hook on a block": lambda model: model.blocks[1].register_forward_hook(_turned),
    "hook on an attention": lambda model: model.blocks[0].attn.register_forward_hook(_turned),
    "hook before an attention": lambda model: model.blocks[1].attn.register_forward_pre_hook(
        _scaled_input, with_kwargs=True
    ),
    "hook before a norm": lambda model: model.unembed.register_forward_pre_hook(
        lambda module, args: (args[0].roll(1, -1), *args[1:])
    ),
    "hook on the model": lambda model: model.register_forward_hook(_turned),
    "hook on keys": lambda model: model.blocks[0].attn.hook_k.add_hook(lambda act, hook: act * 2),
    "hook on a stream": lambda model: model.blocks[1].hook_resid_pre.add_hook(lambda act, hook: act.roll(1, -1)),
    "permanent hook": lambda model: model.blocks[1].hook_attn_out.add_perma_hook(lambda act, hook: act * 3),
    "hook on embeddings": lambda model: model.embed.register_forward_hook(_turned),
    "wrapped attention": lambda model: _wrap(model.blocks[0].attn),
    "wrapped block": lambda model: _wrap(model.blocks[1]),
    "wrapped unembedding": lambda model: _wrap(model.unembed),
    "parametrised": lambda model: parametrize.register_parametrization(model.blocks[0].attn, "W_O", _Doubled()),
    "another class": lambda model: setattr(model, "__class__", _Shifted),
    "scale of one layer": lambda model: _set("attn_scale", 1.0)(model.blocks[1].attn),
    "direction of one layer": lambda model: _set("_attention_dir_override", "bidirectional")(model.blocks[0].attn),
    "one layer local": lambda model: (
        _set("attn_type", "local")(model.blocks[0].attn),
        _set("window_size", 2)(model.cfg),
    ),
    "a block run twice": lambda model: _twice(model.blocks[0]),
}


def drawn(random: np.random.Generator) -> tuple[HookedTransformer, bool, str]:
    """A model of one to three builds at once, perhaps changed; whether it is to be covered; and what was drawn.

    Builds that exclude each other, or that TransformerLens cannot make or run together, are drawn again.
    """
    tokens = torch.zeros(1, N_POS, dtype=torch.long)
    while True:
        names = [str(name) for name in random.choice(list(BUILDS), size=random.integers(1, 4), replace=False)]
        change = str(random.choice(list(CHANGES))) if random.random() < 0.3 else None
        fields = [name for build in names for name in BUILDS[build]]
        if len(fields) > len(set(fields)) or {"attn_only", "act_fn"} <= set(fields):
            continue
        try:
            model = built(
                {key: value for name in names for key, value in BUILDS[name].items()}, int(random.integers(99))
            )
            if change is not None:
                CHANGES[change](model)
            with torch.no_grad():
                model(tokens)
        except Exception:  # a combination without a meaning
            continue
        return model, change is None and set(names) <= COVERED, " + ".join([*names, *([change] if change else [])])
