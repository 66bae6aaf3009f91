"""Names and shapes of a model's parameters, from its configuration alone.

The one idea: what a set of weights must look like is known before any network is built, so weights can be checked where
TransformerLens is not imported. A test holds the table against the network that `model/build.py` makes. Buffers (masks)
are no parameters.
"""

from collections.abc import Mapping

from hyst_interp.config import ModelConfig

LAYER_NORMS = ("ln1", "ln2", "ln_final")


def parameter_shapes(config: ModelConfig, d_vocab: int, n_ctx: int) -> Mapping[str, tuple[int, ...]]:
    """Shape of every parameter by its TransformerLens name."""
    heads, width, d_head = config.n_heads, config.d_model, config.d_head
    normalised = config.normalization_type == "LN"
    shapes: dict[str, tuple[int, ...]] = {"embed.W_E": (d_vocab, width), "pos_embed.W_pos": (n_ctx, width)}
    for layer in range(config.n_layers):
        block = f"blocks.{layer}"
        if normalised:
            shapes |= _layer_norm(f"{block}.ln1", width)
        for kind in "QKV":
            shapes[f"{block}.attn.W_{kind}"] = (heads, width, d_head)
            shapes[f"{block}.attn.b_{kind}"] = (heads, d_head)
        shapes[f"{block}.attn.W_O"] = (heads, d_head, width)
        shapes[f"{block}.attn.b_O"] = (width,)
        if config.d_mlp:
            if normalised:
                shapes |= _layer_norm(f"{block}.ln2", width)
            shapes[f"{block}.mlp.W_in"] = (width, config.d_mlp)
            shapes[f"{block}.mlp.b_in"] = (config.d_mlp,)
            shapes[f"{block}.mlp.W_out"] = (config.d_mlp, width)
            shapes[f"{block}.mlp.b_out"] = (width,)
    if normalised:
        shapes |= _layer_norm("ln_final", width)
    return shapes | {"unembed.W_U": (width, d_vocab), "unembed.b_U": (d_vocab,)}


def in_layer_norm(name: str) -> bool:
    """Whether a parameter belongs to a LayerNorm."""
    return name.split(".")[-2:-1] in [[norm] for norm in LAYER_NORMS]


def _layer_norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.w": (width,), f"{name}.b": (width,)}
