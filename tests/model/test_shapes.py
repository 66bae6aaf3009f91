"""The table of names and shapes is that of the network which `model/build.py` makes."""

import pytest

from hyst_interp.config import ModelConfig
from hyst_interp.model.build import empty_model
from hyst_interp.model.shapes import in_layer_norm, parameter_shapes


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("d_mlp", [0, 20])
@pytest.mark.parametrize("norm", ["LN", "none"])
def test_the_table_is_the_networks(layers, d_mlp, norm):
    config = ModelConfig(n_layers=layers, n_heads=3, d_model=12, d_mlp=d_mlp, normalization_type=norm)
    network = dict(empty_model(config, 17, 11).named_parameters())
    assert dict(parameter_shapes(config, 17, 11)) == {name: tuple(value.shape) for name, value in network.items()}
    norms = {name for name in network if in_layer_norm(name)}
    assert norms == {name for name in network if name.startswith("ln_final") or ".ln" in name}
    assert len(norms) == (0 if norm == "none" else 2 * (layers * (2 if d_mlp else 1) + 1))
