"""Which models the fast paths compute: the one predicate, an allow-list.

A fast path multiplies a model's parameters itself, so it is right only for a model that does nothing else. Whatever is
not known to be computed is refused, in four steps, and the first reason is kept for messages:

1. Every field of the config has a value that the fast paths implement. A field that is not listed here (of another
   version of TransformerLens) is refused at any value.
2. The modules are those that TransformerLens builds from such a config: the same names, of exactly the same classes,
   with the same attributes. A hook of any kind, a forward put on an instance, and another config are attributes.
3. The parameters have the config's shapes and dtype, float32 as a rule, and stand on one device.
4. Nothing around the model changes what it computes: no global module hooks, no autocast, no masking of padding.

A model can change between two calls, so each call looks at the model as it stands; only what TransformerLens builds
from a config is remembered. A method replaced on a class, for all models, is not seen.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch.nn import functional
from torch.nn.modules import module as torch_modules
from transformer_lens import HookedTransformer, HookedTransformerConfig

from hyst_interp.model.hooked import Hooked

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": functional.gelu,
    "relu": functional.relu,
    "silu": functional.silu,
}
"""What stands between an MLP's matrices, where a fast path computes it itself."""

BUILT: tuple[str, ...] = (
    *("n_layers", "n_heads", "d_model", "d_head", "d_mlp", "d_vocab", "d_vocab_out", "n_ctx"),
    *("eps", "attn_only", "attn_scale", "use_attn_scale", "use_hook_tokens"),
    *("normalization_type", "act_fn", "dtype"),
)
"""Fields that say what is built, and which the fast paths read: any value, but for the last three (`Accepted`)."""

FIXED: dict[str, tuple[Any, ...]] = {
    "attention_dir": ("causal",),
    "positional_embedding_type": ("standard",),
    "original_architecture": (None, "GPT2LMHeadModel"),
    "n_devices": (1,),
    "attn_scores_soft_cap": (-1.0, 0.0, None),
    "output_logits_soft_cap": (-1.0, 0.0, None),
    **dict.fromkeys(
        ("n_key_value_heads", "clip_qkv", "num_experts", "experts_per_token", "quantization_method"), (None,)
    ),
    **dict.fromkeys(
        (
            *("parallel_attn_mlp", "gated_mlp", "use_local_attn", "use_normalization_before_and_after"),
            *("scale_attn_by_inverse_layer_idx", "use_qk_norm", "use_logn_attn", "use_attention_sinks"),
            *("final_rms", "post_embedding_ln", "load_in_4bit", "norm_topk_prob"),
            *("uses_rms_norm", "layer_norm_folding", "use_dynamic_ntk_rope", "use_NTK_by_parts_rope"),
            *("use_yarn_rope", "yarn_global_attn_only", "rotary_adjacent_pairs"),
        ),
        (False,),
    ),
}
"""Fields that change the computation → the values at which it is the one that the fast paths implement."""

NEUTRAL: frozenset[str] = frozenset(
    (
        # names, weights at the start, tokenizers, devices (where the parameters are is looked at)
        *("model_name", "seed", "init_mode", "init_weights", "initializer_range", "n_params", "device"),
        *("tokenizer_name", "tokenizer_prepends_bos", "default_prepend_bos", "decoder_start_token_id"),
        *("from_checkpoint", "checkpoint_index", "checkpoint_label_type", "checkpoint_value", "trust_remote_code"),
        "tie_word_embeddings",
        # the same numbers by way of more hook points
        *("use_attn_result", "use_split_qkv_input", "use_attn_in", "use_hook_mlp_in"),
        # read only where a field of `FIXED` has another value
        *("ungroup_grouped_query_attention", "window_size", "attn_types", "train_seq_length"),
        *("rotary_dim", "rotary_base", "rotary_base_local", "rotary_scaling_factor"),
        *("NTK_by_parts_low_freq_factor", "NTK_by_parts_high_freq_factor", "NTK_by_parts_factor"),
        *("NTK_original_ctx_len", "yarn_factor", "yarn_attention_factor", "yarn_beta_fast", "yarn_beta_slow"),
        *("yarn_original_max_position_embeddings", "yarn_truncate"),
        *("relative_attention_max_distance", "relative_attention_num_buckets"),
    )
)
"""Fields that cannot change what a model with the values of `FIXED` computes."""

_BOOKKEEPING = frozenset(
    (
        *("training", "name", "ctx", "is_caching", "context_level", "dataset", "mod_dict", "hook_dict"),
        *("_non_persistent_buffers_set", "_is_full_backward_hook", "normalization_type"),
        *("cfg", "tokenizer", "_parameters", "_buffers", "_modules"),  # these are looked at by themselves
    )
)
"""Attributes of modules that say nothing of the computation (a mode without dropout, a block's note of its norm)."""


@dataclass(frozen=True)
class Accepted:
    """What may differ from one fast path to another."""

    normalizations: tuple[str | None, ...] = ("LN",)
    activations: tuple[str, ...] = tuple(ACTIVATIONS)
    dtypes: tuple[torch.dtype, ...] = (torch.float32,)


PLAIN = Accepted()
"""What the cached sweep and the query's pass compute."""


def covers_model(model: Hooked) -> bool:
    """Whether the fast paths compute what the model computes, as it stands now."""
    return refusal(model) is None


def refusal(model: Hooked, accepted: Accepted = PLAIN) -> str | None:
    """The first reason why a fast path does not compute this model, as a clause; None where it does."""
    if type(model) is not HookedTransformer:
        return f"it is a {type(model).__name__}, no HookedTransformer"
    return (
        _config_refusal(model.cfg, accepted)
        or _module_refusal(model)
        or _parameter_refusal(model)
        or _surroundings_refusal(model)
    )


def _config_refusal(cfg: HookedTransformerConfig, accepted: Accepted) -> str | None:
    if type(cfg) is not HookedTransformerConfig:
        return f"its config is a {type(cfg).__name__}"
    values = vars(cfg)
    for name, value in values.items():
        if name in FIXED:
            if not any(value is allowed or value == allowed for allowed in FIXED[name]):
                return f"its config has {name}={value!r}"
        elif name not in NEUTRAL and name not in BUILT:
            return f"its config has a field '{name}' whose meaning is not known here"
    for name in (*FIXED, *BUILT):
        if name not in values:
            return f"its config has no field '{name}'"
    if cfg.normalization_type not in accepted.normalizations:
        return f"its config has normalization_type={cfg.normalization_type!r}"
    if not cfg.attn_only and cfg.act_fn not in accepted.activations:
        return f"its config has act_fn={cfg.act_fn!r}"
    if cfg.dtype not in accepted.dtypes:
        return f"its config has dtype={cfg.dtype!r}"
    return None


@dataclass(frozen=True)
class _Module:
    """One module as TransformerLens builds it."""

    kind: type
    attributes: dict[str, Any]
    """Those that say something of the computation."""
    known: frozenset[str]
    """Names of attributes that may be there."""
    shapes: dict[str, torch.Size]
    """Of its own parameters."""
    buffers: frozenset[str]


@lru_cache(maxsize=64)
def _built_from(*values: Hashable) -> tuple[HookedTransformerConfig, dict[str, _Module]]:
    """What TransformerLens builds from these values of `BUILT`: no memory is taken for parameters."""
    fields: dict[str, Any] = dict(zip(BUILT, values, strict=True))
    with torch.device("meta"):
        cfg = HookedTransformerConfig(**fields, device="cpu", init_weights=False, default_prepend_bos=False)
        model = HookedTransformer(cfg, move_to_device=False)
    return cfg, {name: _described(module) for name, module in model.named_modules()}


def _described(module: torch.nn.Module) -> _Module:
    attributes = {key: value for key, value in vars(module).items() if key not in _BOOKKEEPING}
    shapes = {key: value.shape for key, value in module.named_parameters(recurse=False)}
    known = _BOOKKEEPING.union(attributes)
    return _Module(type(module), attributes, known, shapes, frozenset(vars(module)["_buffers"]))


def _module_refusal(model: HookedTransformer) -> str | None:
    built, expected = _built_from(*(getattr(model.cfg, name) for name in BUILT))
    for name in BUILT:
        if not _same(getattr(model.cfg, name), getattr(built, name)):
            return f"its config has {name}={getattr(model.cfg, name)!r}, which no model is built with"
    modules = dict(model.named_modules())
    if modules.keys() != expected.keys():
        odd = min(modules.keys() ^ expected.keys())
        return f"module '{odd}' is {'not part of its config' if odd in modules else 'missing, or another one as well'}"
    for name, module in modules.items():
        reason = _attribute_refusal(module, expected[name], model.cfg)
        if reason is not None:
            return f"module '{name}' {reason}" if name else f"the model {reason}"
    return None


def _attribute_refusal(module: torch.nn.Module, expected: _Module, cfg: HookedTransformerConfig) -> str | None:
    """How a module differs from the one that is built; parameters' values aside."""
    if type(module) is not expected.kind:
        return f"is a {type(module).__name__}, no {expected.kind.__name__}"
    own = vars(module)
    for key, value in expected.attributes.items():
        if not _same(own.get(key, _Module), value):
            if key.endswith("_hooks"):
                return "carries hooks (model.reset_hooks() removes those of TransformerLens)"
            return f"has another '{key}' than its config says"
    if not own.keys() <= expected.known:
        return f"has a '{min(own.keys() - expected.known)}' of its own"
    if own.get("cfg", cfg) is not cfg:
        return "has a config of its own"
    shapes = {key: None if value is None else value.shape for key, value in own["_parameters"].items()}
    if shapes != expected.shapes or own["_buffers"].keys() != expected.buffers:
        return "has other parameters or buffers than its config says"
    masked = own["_buffers"].get("IGNORE")
    if masked is not None and float(masked) != -math.inf:
        return "masks attention with a number that is not −∞"
    return None


def _same(own: object, built: object) -> bool:
    """Whether an attribute is the built one; what cannot simply be compared is not."""
    return own is built or (isinstance(own, int | float | str | list | dict | set) and bool(own == built))


def _parameter_refusal(model: HookedTransformer) -> str | None:
    device = None
    for name, parameter in model.named_parameters():
        device = device or parameter.device
        if type(parameter) is not torch.nn.Parameter:
            return f"parameter '{name}' is a {type(parameter).__name__}"
        if parameter.dtype != model.cfg.dtype:
            return f"parameter '{name}' is {parameter.dtype}, where its config has {model.cfg.dtype}"
        if parameter.device != device:
            return f"its parameters stand on several devices ({device}, {parameter.device})"
        if parameter.layout != torch.strided:
            return f"parameter '{name}' is {str(parameter.layout).removeprefix('torch.')}"
    return None


def _surroundings_refusal(model: HookedTransformer) -> str | None:
    if any(
        (
            torch_modules._global_forward_hooks,
            torch_modules._global_forward_pre_hooks,
            torch_modules._global_backward_hooks,
            torch_modules._global_backward_pre_hooks,
        )
    ):
        return "hooks are registered for all modules"
    if torch.is_autocast_enabled(next(model.parameters()).device.type):
        return "autocast is on, so it computes in another precision than its parameters'"
    tokenizer = model.tokenizer
    if tokenizer is not None and getattr(tokenizer, "padding_side", None) != "right":
        return "its tokenizer pads on the left, so tokens that look like padding are masked"
    return None
