"""The query-position forward equals HookedTransformer's own, in logits and in gradients, or is not used at all."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from hyst_interp.config import ModelConfig, TaskConfig
from hyst_interp.model.build import initial_weights, model_from
from hyst_interp.model.query_forward import covers, query_forward, query_logits
from hyst_interp.streams import Stream
from hyst_interp.tasks.recall import AssociativeRecall

RELATIVE = 1e-5


def random_case(seed: int) -> tuple[ModelConfig, TaskConfig]:
    """Shapes drawn from a generator of the case: 1–3 layers, 1–5 heads, any width, 1–9 pairs."""
    random = np.random.default_rng(seed)
    heads, pairs = int(random.integers(1, 6)), int(random.integers(1, 10))
    keys = pairs + int(random.integers(1, 6))
    config = ModelConfig(
        n_layers=int(random.integers(1, 4)),
        n_heads=heads,
        d_model=heads * int(random.integers(2, 14)),
        d_mlp=int(random.integers(1, 70)),
        act_fn=["gelu", "relu", "silu"][seed % 3],
    )
    return config, TaskConfig(n_keys=keys, n_values=max(keys, pairs + 2) + int(random.integers(0, 4)), n_pairs=pairs)


def built(config: ModelConfig, task: TaskConfig, seed: int, plain: bool = False):
    """A model, with random biases and LayerNorm weights unless `plain`, its tokens and its targets."""
    weights = initial_weights(config, task.d_vocab, task.n_ctx, Stream("initialisation", seed))
    if not plain:
        generator = torch.Generator().manual_seed(seed)
        for name, value in weights.items():
            if not name.rsplit(".", 1)[1].startswith("W_"):
                weights[name] = value + 0.5 * torch.randn(value.shape, generator=generator)
    trials = AssociativeRecall(task, seed).batch(Stream("anchor", seed), 0, 24)
    tokens, targets = torch.from_numpy(trials.tokens), torch.from_numpy(trials.targets(0.5))
    return model_from(config, task.d_vocab, task.n_ctx, weights), tokens, targets


def gradients(model, logits, targets) -> dict[str, torch.Tensor | None]:
    model.zero_grad(set_to_none=True)
    functional.cross_entropy(logits, targets).backward()
    return {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("seed", range(30))
def test_logits_and_gradients_equal_the_models_own(seed):
    config, task = random_case(seed)
    assert covers(config)
    model, tokens, targets = built(config, task, seed, plain=seed % 5 == 0)
    own, ours = model(tokens)[:, -1], query_logits(config, model, tokens)
    assert ours.shape == (24, task.d_vocab)
    assert (ours - own).abs().max() <= RELATIVE * max(1.0, float(own.detach().abs().max()))
    expected, found = gradients(model, own, targets), gradients(model, ours, targets)
    largest = max(float(value.norm()) for value in expected.values() if value is not None)
    for name, value in expected.items():
        if name.endswith(".b_K"):
            assert found[name] is None, "b_K is not used: its gradient is exactly zero"
            assert value.norm() <= RELATIVE * largest, "in the model's own forward it is zero up to rounding"
            continue
        assert (found[name] - value).norm() <= RELATIVE * largest, name


def test_every_other_parameter_counts():
    """Control: a small change of any parameter but b_K moves the logits of the query-position forward."""
    config, task = random_case(4)
    model, tokens, _ = built(config, task, 4)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    before = query_forward(config, weights, tokens)
    generator = torch.Generator().manual_seed(0)
    for name, value in weights.items():
        moved = {**weights, name: value + 0.1 * torch.randn(value.shape, generator=generator)}
        distance = float((query_forward(config, moved, tokens) - before).abs().max())
        assert (distance == 0) if name.endswith(".b_K") else (distance > 1e-4), name


def test_rows_do_not_depend_on_their_batch():
    config, task = random_case(7)
    model, tokens, _ = built(config, task, 7)
    batched = query_logits(config, model, tokens)
    single = torch.cat([query_logits(config, model, tokens[row : row + 1]) for row in range(len(tokens))])
    assert (batched - single).abs().max() < 1e-5


def test_the_query_attends_only_to_what_stands_before():
    """Logits at the last of fewer tokens are those of the model's own forward at that position."""
    config, task = random_case(8)
    model, tokens, _ = built(config, task, 8)
    own = model(tokens)
    for length in range(1, task.n_ctx + 1):
        found = query_logits(config, model, tokens[:, :length])
        assert (found - own[:, length - 1]).abs().max() < 2e-5


OUTSIDE = [
    {"normalization_type": "none"},
    {"d_mlp": 0},
    {"act_fn": "gelu_new"},
    {"d_mlp": 0, "normalization_type": "none"},
]


@pytest.mark.parametrize("change", OUTSIDE, ids=str)
def test_what_is_not_covered_uses_the_models_own_forward(change):
    config, task = ModelConfig(**{"n_heads": 2, "d_model": 16, "d_mlp": 24, **change}), TaskConfig()
    assert not covers(config)
    model, tokens, _ = built(config, task, 1)
    fired = []
    model.add_hook("blocks.0.hook_resid_pre", lambda act, hook: fired.append(hook.name))
    assert torch.equal(query_logits(config, model, tokens), model(tokens)[:, -1])
    assert len(fired) == 2
    with pytest.raises(ValueError, match="does not cover"):
        query_forward(config, dict(model.named_parameters()), tokens)


def test_the_fast_forward_runs_no_module(monkeypatch):
    """The two ways can be told apart: where it is covered, the model's own forward is not called."""
    config, task = random_case(2)
    model, tokens, _ = built(config, task, 2)
    monkeypatch.setattr(type(model), "forward", None)
    query_logits(config, model, tokens)
    with pytest.raises(TypeError):
        model(tokens)


def test_hooks_fire():
    """A model that carries a hook is run whole, and what the hook does counts."""
    config, task = random_case(2)
    model, tokens, _ = built(config, task, 2)
    before = query_logits(config, model, tokens)
    model.add_hook("blocks.0.hook_resid_pre", lambda act, hook: act.roll(1, -1))
    assert torch.equal(query_logits(config, model, tokens), model(tokens)[:, -1])
    assert (query_logits(config, model, tokens) - before).abs().max() > 1e-3


@pytest.mark.parametrize("change", [{"act_fn": "relu"}, {"n_heads": 4, "d_model": 32}, {"n_layers": 3}], ids=str)
def test_a_config_of_another_model_is_not_believed(change):
    config = ModelConfig(n_heads=2, d_model=32, d_mlp=24)
    model, tokens, _ = built(config, TaskConfig(), 1)
    assert torch.equal(query_logits(config.model_copy(update=change), model, tokens), model(tokens)[:, -1])


@pytest.mark.parametrize("change", [{"eps": 0.1}, {"attn_scale": 1.0}, {"use_attn_scale": False}], ids=str)
def test_what_a_config_cannot_say_is_looked_for_in_the_model(change):
    config = ModelConfig(n_heads=2, d_model=32, d_mlp=24)
    model, tokens, _ = built(config, TaskConfig(), 1)
    other = type(model)(type(model.cfg)(**{**model.cfg.to_dict(), **change, "init_weights": False}))
    other.load_state_dict(model.state_dict())
    assert torch.equal(query_logits(config, other, tokens), other(tokens)[:, -1])
    assert (query_logits(config, model, tokens) - other(tokens)[:, -1]).abs().max() > 1e-5
