"""Who answers: the shape of a small decoder-only transformer, in TransformerLens's terms."""

from typing import Literal

from pydantic import Field, model_validator

from hyst_interp.config.frozen import Frozen


class ModelConfig(Frozen):
    """Shape of a HookedTransformer; with the default task it has 72,288 parameters."""

    n_layers: int = Field(default=2, ge=1, le=48)
    """Transformer blocks."""
    n_heads: int = Field(default=4, ge=1, le=128)
    """Attention heads a block; d_head = d_model / n_heads."""
    d_model: int = Field(default=64, ge=2)
    """Width of the residual stream."""
    d_mlp: int = Field(default=128, ge=0)
    """Width of the MLP; 0 for an attention-only model."""
    act_fn: Literal["gelu", "relu", "silu", "gelu_new"] = "gelu"
    """The MLP's activation function."""
    normalization_type: Literal["LN", "none"] = "LN"
    """Layer normalisation, or none."""
    init_std: float | None = Field(default=None, gt=0)
    """Standard deviation of initial matrices; by default 0.8 / sqrt(d_model). Biases start at 0, LayerNorms at 1."""

    @model_validator(mode="after")
    def _divisible(self) -> "ModelConfig":
        if self.d_model % self.n_heads:
            raise ValueError(
                f"d_model is {self.d_model}, no multiple of n_heads {self.n_heads}; use a multiple of {self.n_heads}"
            )
        return self

    @property
    def d_head(self) -> int:
        """Width of one head."""
        return self.d_model // self.n_heads
