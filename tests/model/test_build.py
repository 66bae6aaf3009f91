"""Building models: the shapes, the initial numbers, and that what comes out is an ordinary HookedTransformer."""

import numpy as np
import pytest
import torch
from transformer_lens import HookedTransformer

from hyst_interp.config import ModelConfig, TaskConfig
from hyst_interp.model.build import empty_model, initial_weights, model_from, model_of
from hyst_interp.model.hooked import Hooked, device_of, output_matrix
from hyst_interp.streams import Stream

STREAM = Stream("initialisation", 0)


def count(config: ModelConfig, task: TaskConfig) -> int:
    return sum(p.numel() for p in empty_model(config, task.d_vocab, task.n_ctx).parameters())


def test_the_default_network_has_72_288_parameters():
    assert count(ModelConfig(), TaskConfig()) == 72_288


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("mlp", [0, 20])
@pytest.mark.parametrize("norm", ["LN", "none"])
def test_parameters_are_counted_in_closed_form(layers, mlp, norm):
    d, task = 12, TaskConfig(n_keys=5, n_values=7, n_pairs=3)
    attention = 4 * d * d + 4 * d
    dense = 2 * d * mlp + mlp + d if mlp else 0
    normal = norm == "LN"
    block = attention + dense + normal * (2 * d + (2 * d if mlp else 0))
    ends = task.d_vocab * d + task.n_ctx * d + d * task.d_vocab + task.d_vocab + normal * 2 * d
    config = ModelConfig(n_layers=layers, n_heads=3, d_model=d, d_mlp=mlp, normalization_type=norm)
    assert count(config, task) == layers * block + ends


def test_initial_weights_are_a_pure_function_of_the_stream():
    first, again = (initial_weights(ModelConfig(), 32, 17, Stream("initialisation", 5)) for _ in range(2))
    other = initial_weights(ModelConfig(), 32, 17, Stream("initialisation", 6))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first if ".W_" in name)
    assert not any(value.requires_grad for value in first.values())


@pytest.mark.parametrize(("init_std", "expected"), [(None, 0.8 / 8), (0.3, 0.3)])
def test_initial_numbers_are_those_that_the_configuration_names(init_std, expected):
    """Matrices are normal with the named deviation (five standard errors), biases 0, LayerNorm weights 1."""
    weights = initial_weights(ModelConfig(init_std=init_std), 32, 17, STREAM)
    drawn = []
    for name, value in weights.items():
        kind = name.rsplit(".", 1)[1]
        if kind.startswith("W_"):
            drawn.append(value.flatten().numpy())
        else:
            assert torch.equal(value, torch.full_like(value, 1.0 if kind == "w" else 0.0)), name
    numbers = np.concatenate(drawn) / expected
    n = len(numbers)
    assert n > 70_000
    assert abs(numbers.mean()) < 5 / np.sqrt(n)
    assert abs(numbers.std() - 1) < 5 / np.sqrt(2 * n)
    assert abs((np.abs(numbers) < 1).mean() - 0.6827) < 0.01
    assert len({part.tobytes() for part in drawn}) == len(drawn)


def test_a_model_is_a_hooked_transformer_and_stays_one(small_anchor):
    model = small_anchor.model()
    assert type(model) is HookedTransformer
    assert type(model).forward is HookedTransformer.forward
    assert "forward" not in vars(model)
    assert isinstance(model, Hooked)
    assert not model.training
    assert device_of(model) == torch.device("cpu")
    tokens = torch.tensor([[0, 6, 1, 7, 2, 8, 1]])
    logits, cache = model.run_with_cache(tokens)
    assert torch.equal(logits, model(tokens))
    assert cache["blocks.0.attn.hook_z"].shape == (1, 7, 2, 16)
    assert torch.equal(output_matrix(model, 1), small_anchor.weights["blocks.1.attn.W_O"])
    assert {name for name, _ in model.named_parameters()} == set(small_anchor.weights)


def test_a_model_holds_a_copy_unprocessed(small_anchor):
    """Nothing is folded or centred, and writing to the model does not reach the state."""
    model = model_of(small_anchor.setup, small_anchor.weights)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, small_anchor.weights[name]), name
        assert parameter.data_ptr() != small_anchor.weights[name].data_ptr()
    before = small_anchor.weights_hash()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    assert small_anchor.weights_hash() == before


def test_weights_that_do_not_fit_are_refused():
    config = ModelConfig(n_heads=2, d_model=8, d_mlp=8)
    weights = initial_weights(config, 11, 5, STREAM)
    assert model_from(config, 11, 5, weights)
    with pytest.raises(ValueError, match=r"'embed.W_E' is \(11, 8\), expected \(12, 8\)"):
        model_from(config, 12, 5, weights)
    with pytest.raises(ValueError, match=r"'blocks.1.*' is on one side only"):
        model_from(ModelConfig(n_layers=1, n_heads=2, d_model=8, d_mlp=8), 11, 5, weights)
