"""How weights are updated, and when an anchor counts as converged.

The convergence criterion itself is fixed in `history/convergence.py`; a configuration may choose only the minimum age
and the limit.
"""

from typing import Literal

from pydantic import Field

from hyst_interp.config.frozen import Frozen


class OptimizerConfig(Frozen):
    """One of torch.optim's optimizers and its settings."""

    name: Literal["adamw", "adam", "sgd", "momentum"] = "adamw"
    """AdamW, Adam, plain SGD, or SGD with momentum."""
    lr: float = Field(default=1e-3, gt=0)
    """Learning rate, constant."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Decay rates of Adam's moments."""
    eps: float = Field(default=1e-8, gt=0)
    """Adam's term in the denominator."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Decoupled for AdamW, an L2 term otherwise."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Used by `momentum` alone."""
    clip_norm: float | None = Field(default=None, gt=0)
    """Largest gradient norm, or none for no clipping."""
    fused: bool = True
    """torch's fused kernels; they differ in bits from the others, so the choice belongs to the configuration."""


class ConvergenceConfig(Frozen):
    """The two choices that the convergence criterion leaves open."""

    minimum_age: int = Field(default=1000, ge=0)
    """Updates since the contextual route formed before an anchor may count as converged."""
    limit: int = Field(default=8000, ge=50)
    """Updates after which an anchor that has not converged is a failure."""


class TrainingConfig(Frozen):
    """Batch size, optimizer, convergence."""

    batch_size: int = Field(default=128, ge=1)
    """Prompts in a batch."""
    optimizer: OptimizerConfig = OptimizerConfig()
    convergence: ConvergenceConfig = ConvergenceConfig()
