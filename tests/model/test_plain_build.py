"""The predicate of the fast paths: an allow-list over every field, module, parameter, and hook."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.nn.modules import module as torch_modules
from transformer_lens import HookedTransformer, HookedTransformerConfig

from hyst_interp.config import ModelConfig
from hyst_interp.config.study import load_study
from hyst_interp.model.build import initial_weights, model_from
from hyst_interp.model.plain_build import ACTIVATIONS, BUILT, FIXED, NEUTRAL, covers_model, refusal
from hyst_interp.model.query_forward import query_forward
from hyst_interp.streams import Stream

CONFIG = ModelConfig(d_model=32, n_heads=2, d_mlp=48)


def plain(config: ModelConfig = CONFIG) -> HookedTransformer:
    return model_from(config, 13, 7, initial_weights(config, 13, 7, Stream("initialisation", 3)))


def test_every_field_of_the_config_is_listed_once() -> None:
    """A field that another version of TransformerLens brings fails here, and is refused until it is listed."""
    names = [*BUILT, *FIXED, *NEUTRAL]
    assert len(names) == len(set(names))
    assert set(names) == {field.name for field in fields(HookedTransformerConfig)}


@pytest.mark.parametrize("study", ["tiny", "smoke", "paper"])
def test_the_models_of_the_studies_are_covered(study: str) -> None:
    assert covers_model(plain(load_study(study).model))


@pytest.mark.parametrize("change", [{"d_mlp": 0}, *({"act_fn": name} for name in ACTIVATIONS)], ids=str)
def test_builds_that_are_computed_are_covered(change: dict[str, Any]) -> None:
    model = plain(CONFIG.model_copy(update=change))
    assert refusal(model) is None
    assert covers_model(deepcopy(model))
    assert covers_model(model.train())


OTHER = {
    "dtype": torch.bfloat16,
    "attention_dir": "bidirectional",
    "positional_embedding_type": "rotary",
    "original_architecture": "Olmo2ForCausalLM",
    "normalization_type": "RMS",
    "act_fn": "gelu_new",
    "n_devices": 2,
    "attn_scores_soft_cap": 30.0,
    "output_logits_soft_cap": 30.0,
    "n_key_value_heads": 1,
    "clip_qkv": 8.0,
    "num_experts": 4,
    "experts_per_token": 2,
    "quantization_method": "mxfp4",
}
"""A value that is not implemented, for every field that says by more than a flag how something is computed."""


@pytest.mark.parametrize("name", [*FIXED, *BUILT])
def test_a_field_at_another_value_is_refused_by_its_name(name: str) -> None:
    model = plain()
    value = getattr(model.cfg, name)
    other = OTHER.get(name, not value if isinstance(value, bool) else None if isinstance(value, str) else 3)
    setattr(model.cfg, name, other)
    assert not covers_model(model)
    if name in FIXED or name in ("act_fn", "normalization_type", "dtype"):
        assert f"{name}={other!r}" in str(refusal(model))
    setattr(model.cfg, name, value)
    assert covers_model(model)
    delattr(model.cfg, name)
    assert not covers_model(model)


def test_a_field_that_is_not_known_is_refused() -> None:
    model = plain()
    model.cfg.use_something_new = False
    assert "use_something_new" in str(refusal(model))


@pytest.mark.parametrize("name", sorted(NEUTRAL - {"device"}))
def test_a_neutral_field_changes_nothing(name: str) -> None:
    """At a value that it cannot have had, the model is covered, and its own forward is still what is computed."""
    model, tokens = plain(), torch.randint(13, (5, 7), generator=torch.Generator().manual_seed(1))
    value = getattr(model.cfg, name)
    setattr(model.cfg, name, not value if isinstance(value, bool) else 3)
    assert covers_model(model)
    own = model(tokens)[:, -1]
    torch.testing.assert_close(query_forward(CONFIG, dict(model.named_parameters()), tokens), own, atol=1e-5, rtol=1e-5)


HOOKS: dict[str, Callable[[torch.nn.Module], Any]] = {
    "forward": lambda module: module.register_forward_hook(lambda *args: None),
    "forward with keywords": lambda module: module.register_forward_hook(lambda *args: None, with_kwargs=True),
    "before": lambda module: module.register_forward_pre_hook(lambda *args: None),
    "backward": lambda module: module.register_full_backward_hook(lambda *args: None),
    "before backward": lambda module: module.register_full_backward_pre_hook(lambda *args: None),
}


@pytest.mark.parametrize("kind", HOOKS)
def test_a_hook_of_any_kind_on_any_module_is_seen_until_it_is_taken_off(kind: str) -> None:
    model = plain()
    for name, module in model.named_modules():
        handle = HOOKS[kind](module)
        reason = refusal(model)
        assert reason is not None, name
        assert "hooks" in reason
        assert name in reason
        handle.remove()
        assert covers_model(model)


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
@pytest.mark.parametrize("permanent", [False, True])
def test_hooks_of_transformer_lens_are_seen(direction: str, permanent: bool) -> None:
    model = plain()
    for point in model.hook_dict.values():
        point.add_hook(lambda act, hook: None, dir=direction, is_permanent=permanent)
        assert not covers_model(model)
        model.reset_hooks(including_permanent=True)
        assert covers_model(model)


def widened(model: HookedTransformer) -> None:
    model.blocks[0].mlp.b_in = torch.nn.Parameter(model.blocks[0].mlp.b_in.detach().double())


def replaced(model: HookedTransformer, path: str, value: object) -> None:
    owner, _, name = path.rpartition(".")
    setattr(model.get_submodule(owner), name, value)


TAMPERED: dict[str, tuple[Callable[[HookedTransformer], Any], str]] = {
    "a parameter in float64": (widened, "float64"),
    "the model in bfloat16": (lambda model: model.to(torch.bfloat16), "dtype"),
    "parameters in bfloat16": (lambda model: torch.nn.Module.to(model, torch.bfloat16), "bfloat16"),
    "a parameter elsewhere": (
        lambda model: replaced(model, "unembed.b_U", torch.nn.Parameter(torch.empty(13, device="meta"))),
        "several devices",
    ),
    "a parameter of another shape": (
        lambda model: replaced(model, "blocks.0.mlp.W_in", torch.nn.Parameter(torch.zeros(32, 49))),
        "blocks.0.mlp",
    ),
    "a parameter more": (
        lambda model: model.unembed.register_parameter("w", torch.nn.Parameter(torch.ones(1))),
        "unembed",
    ),
    "a buffer more": (lambda model: model.embed.register_buffer("shift", torch.ones(1)), "embed"),
    "a module more": (lambda model: model.blocks[0].add_module("adapter", torch.nn.Linear(2, 2)), "blocks.0.adapter"),
    "a module fewer": (lambda model: replaced(model, "blocks.1.hook_resid_mid", torch.nn.Identity()), "hook_resid_mid"),
    "a layer twice": (lambda model: model.blocks.__setitem__(1, model.blocks[0]), "blocks.1"),
    "a layer fewer": (lambda model: model.blocks.__delitem__(1), "blocks.1"),
    "another activation": (lambda model: replaced(model, "blocks.0.mlp.act_fn", torch.tanh), "act_fn"),
    "another eps": (lambda model: replaced(model, "ln_final.eps", 1e-3), "eps"),
    "another scale": (lambda model: replaced(model, "blocks.1.attn.attn_scale", 2.0), "attn_scale"),
    "another mask": (lambda model: model.blocks[0].attn.IGNORE.fill_(-2.0), "−∞"),
    "a config of its own": (lambda model: replaced(model, "blocks.0.cfg", deepcopy(model.cfg)), "config"),
    "a forward of its own": (lambda model: replaced(model, "blocks.0.forward", model.blocks[0].forward), "forward"),
    "a method of its own": (lambda model: replaced(model, "blocks.1.attn.apply_causal_mask", lambda x, *_: x), "apply"),
    "a conversion": (lambda model: replaced(model, "hook_embed.hook_conversion", object()), "hook_conversion"),
    "padding on the left": (
        lambda model: replaced(model, "tokenizer", SimpleNamespace(padding_side="left")),
        "tokenizer",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_model_that_is_not_what_its_config_builds_is_refused(name: str) -> None:
    model = plain()
    change, word = TAMPERED[name]
    change(model)
    assert word in str(refusal(model))


def test_a_subclass_of_hooked_transformer_is_refused() -> None:
    model = plain()
    model.__class__ = type("Mine", (HookedTransformer,), {})
    assert "Mine" in str(refusal(model))


@contextmanager
def global_hook(register: Callable[..., Any]) -> Iterator[None]:
    handle = register(lambda *args: None)
    try:
        yield
    finally:
        handle.remove()


SURROUNDINGS = {
    "forward": lambda: global_hook(torch_modules.register_module_forward_hook),
    "before": lambda: global_hook(torch_modules.register_module_forward_pre_hook),
    "backward": lambda: global_hook(torch_modules.register_module_full_backward_hook),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_what_stands_around_a_model_is_seen_while_it_lasts(name: str) -> None:
    model = plain()
    with SURROUNDINGS[name]():
        assert not covers_model(model)
    assert covers_model(model)


def test_what_is_remembered_of_one_model_says_nothing_of_another() -> None:
    models = [
        plain(),
        plain(CONFIG.model_copy(update={"n_layers": 3})),
        plain(CONFIG.model_copy(update={"act_fn": "relu"})),
    ]
    assert all(covers_model(model) for model in models)
    models[0].cfg.act_fn = "relu"
    models[1].cfg.n_layers = 2
    assert [covers_model(model) for model in models] == [False, False, True]
