"""torch.optim optimizers from configurations, and their state as plain named tensors.

Moments are stored by parameter name, so they can be compared, hashed, transplanted, and saved without pickle. Every
parameter takes every update (a missing gradient is a zero), so one step count serves all of them.
"""

from collections.abc import Mapping
from typing import Any

import torch

from hyst_interp.config import OptimizerConfig

Moments = Mapping[str, Mapping[str, torch.Tensor]]
"""Parameter name → moment name (`exp_avg`, `exp_avg_sq`, `momentum_buffer`) → tensor."""


def build_optimizer(
    config: OptimizerConfig, parameters: Mapping[str, torch.nn.Parameter], moments: Moments, step: int
) -> torch.optim.Optimizer:
    """An optimizer over `parameters` that continues from (copies of) `moments` after `step` updates."""
    adam: dict[str, Any] = {
        "lr": config.lr,
        "betas": config.betas,
        "eps": config.eps,
        "weight_decay": config.weight_decay,
    }
    sgd: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    fused: dict[str, Any] = {"fused": True} if config.fused else {"foreach": False}
    params = list(parameters.values())
    match config.name:
        case "adamw":
            optimizer = torch.optim.AdamW(params, **adam, **fused)
        case "adam":
            optimizer = torch.optim.Adam(params, **adam, **fused)
        case "sgd":
            optimizer = torch.optim.SGD(params, **sgd, **fused)
        case "momentum":
            optimizer = torch.optim.SGD(params, momentum=config.momentum, **sgd, **fused)
    if moments:
        if moments.keys() != parameters.keys():
            odd = sorted(moments.keys() ^ parameters.keys())[0]
            raise ValueError(f"optimizer state does not fit the model: '{odd}' is on one side only")
        for name, parameter in parameters.items():
            state = {key: value.clone() for key, value in moments[name].items()}
            if config.name in ("adamw", "adam"):
                state["step"] = torch.tensor(float(step))
            optimizer.state[parameter] = state
    return optimizer


def read_moments(
    optimizer: torch.optim.Optimizer, parameters: Mapping[str, torch.nn.Parameter]
) -> dict[str, dict[str, torch.Tensor]]:
    """Deep copies of the optimizer's moments by parameter name; empty where it keeps none."""
    moments = {
        name: {
            key: value.detach().clone()
            for key, value in optimizer.state[parameter].items()
            if isinstance(value, torch.Tensor) and key != "step"
        }
        for name, parameter in parameters.items()
        if parameter in optimizer.state
    }
    return {name: state for name, state in moments.items() if state}
