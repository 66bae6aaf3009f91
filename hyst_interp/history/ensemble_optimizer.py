"""torch.optim's updates for many members at once, each with an age of its own.

All parameters of a member stand in one row, so an update is a dozen operations on [member, parameter], however many
named tensors there are. The formulas are those of torch's unfused AdamW, Adam, and SGD; what differs from them is
rounding. What depends on a member's age, Adam's bias corrections, is computed in float64 and enters as two numbers a
member.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from jaxtyping import Float

from hyst_interp.config import OptimizerConfig
from hyst_interp.history.optimizer import Moments
from hyst_interp.model.build import Weights

Rows = Float[torch.Tensor, "member parameter"]

MOMENTS: dict[str, tuple[str, ...]] = {
    "adamw": ("exp_avg", "exp_avg_sq"),
    "adam": ("exp_avg", "exp_avg_sq"),
    "sgd": (),
    "momentum": ("momentum_buffer",),
}
"""Optimizer → the moments that it keeps, by torch's names."""
FACTORS = 2
"""Numbers a member that depend on its age: Adam's step size, and the square root of its second bias correction."""


@dataclass(frozen=True)
class Layout:
    """Where the named tensors of one member stand in its row."""

    shapes: Mapping[str, torch.Size]

    @classmethod
    def of(cls, weights: Weights) -> "Layout":
        """The layout of these tensors, in their order."""
        return cls({name: value.shape for name, value in weights.items()})

    def row(self, tensors: Weights) -> Float[torch.Tensor, " parameter"]:
        """The named tensors as one row; ValueError where names or shapes do not fit."""
        if tensors.keys() != self.shapes.keys():
            odd = sorted(tensors.keys() ^ self.shapes.keys())[0]
            raise ValueError(f"members do not fit together: '{odd}' is on one side only")
        for name, shape in self.shapes.items():
            if tensors[name].shape != shape:
                raise ValueError(
                    f"members do not fit together: '{name}' is {tuple(tensors[name].shape)} in one of them"
                )
        return torch.cat([tensors[name].detach().flatten() for name in self.shapes])

    def views(self, rows: Rows) -> dict[str, torch.Tensor]:
        """Every named tensor [member, …] as a view of the rows."""
        sizes = [shape.numel() for shape in self.shapes.values()]
        starts = [0, *accumulate(sizes)]
        return {
            name: rows[:, start : start + size].view(len(rows), *shape)
            for (name, shape), start, size in zip(self.shapes.items(), starts, sizes, strict=False)
        }

    def copies(self, rows: Rows) -> list[dict[str, torch.Tensor]]:
        """Every member's named tensors, each with memory of its own."""
        views = self.views(rows)
        return [{name: value[member].clone() for name, value in views.items()} for member in range(len(rows))]


def stack_moments(
    config: OptimizerConfig, layout: Layout, moments: Sequence[Moments], device: torch.device
) -> dict[str, Rows]:
    """The members' moments as rows; zeros, which torch starts from too, for a member that has none."""
    stacked = {}
    for key in MOMENTS[config.name]:
        by_member = [{name: held[key] for name, held in member.items()} for member in moments]
        width = sum(shape.numel() for shape in layout.shapes.values())
        rows = [layout.row(held) if held else torch.zeros(width) for held in by_member]
        stacked[key] = torch.stack(rows).to(device)
    return stacked


def factors(config: OptimizerConfig, ages: Sequence[int], count: int) -> Float[np.ndarray, "update member factor"]:
    """What the next `count` updates need to know of members that have had `ages` updates: see `FACTORS`."""
    values = np.ones((count, len(ages), FACTORS), dtype=np.float32)
    if config.name in ("adamw", "adam"):
        first, second = config.betas
        for update in range(count):
            for member, age in enumerate(ages):
                step = age + update + 1
                values[update, member] = config.lr / (1 - first**step), math.sqrt(1 - second**step)
    return values


def clip(gradients: Rows, norm: float) -> Rows:
    """Every member's gradient scaled to at most `norm`, as `torch.nn.utils.clip_grad_norm_` does for one model."""
    return gradients * (norm / (torch.linalg.vector_norm(gradients, dim=1, keepdim=True) + 1e-6)).clamp(max=1.0)


def update(
    config: OptimizerConfig,
    weights: Rows,
    moments: Mapping[str, Rows],
    gradients: Rows,
    aged: Float[torch.Tensor, "member factor"],
) -> None:
    """One update of every member, in place on `weights` and `moments`; `aged` is one row block of `factors`."""
    if config.clip_norm is not None:
        gradients = clip(gradients, config.clip_norm)
    if config.weight_decay and config.name == "adamw":
        weights.mul_(1 - config.lr * config.weight_decay)
    elif config.weight_decay:
        gradients = gradients.add(weights, alpha=config.weight_decay)
    match config.name:
        case "adamw" | "adam":
            first, second = moments["exp_avg"], moments["exp_avg_sq"]
            first.lerp_(gradients, 1 - config.betas[0])
            second.mul_(config.betas[1]).addcmul_(gradients, gradients, value=1 - config.betas[1])
            spread = (second.sqrt() / aged[:, 1:2]).add_(config.eps)
            weights.sub_((first / spread).mul_(aged[:, 0:1]))
        case "sgd":
            weights.sub_(gradients, alpha=config.lr)
        case "momentum":
            velocity = moments["momentum_buffer"].mul_(config.momentum).add_(gradients)
            weights.sub_(velocity, alpha=config.lr)
