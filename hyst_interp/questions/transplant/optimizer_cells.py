"""Optimizer states that can be put beside a history's weights: the columns of the transplant.

A cell is a function from three training states (own, the other history's, the anchor's) to moments and an age. The age
is part of it: Adam divides its moments by 1 − βᵗ, so emptied moments of age 0 (*reset*: the first update is about
lr · sign of the gradient) and emptied moments of full age (*zeroed*: no correction, so with the default β the first
update is 0.1/√0.001, about three times as long) are different interventions.

What an optimizer keeps differs: Adam and AdamW both moments, SGD with momentum its buffer, which is its first moment,
plain SGD none. Where there is nothing to move, a cell equals *own*.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from hyst_interp.config import OptimizerConfig
from hyst_interp.errors import UserError
from hyst_interp.history.optimizer import Moments
from hyst_interp.history.state import TrainingState

FIRST, SECOND = ("exp_avg", "momentum_buffer"), ("exp_avg_sq",)
"""Names of first and of second moments, over all optimizers."""


@dataclass(frozen=True)
class OptimizerState:
    """Moments and the number of updates that they count as having taken."""

    moments: Moments
    step: int


Cell = Callable[[TrainingState, TrainingState, TrainingState], OptimizerState]
"""(own, other, anchor) → the optimizer state that goes with own's weights."""


def _zeroed(own: TrainingState, other: TrainingState, anchor: TrainingState) -> OptimizerState:
    zeros = {
        name: {key: torch.zeros_like(moment) for key, moment in kept.items()} for name, kept in own.moments.items()
    }
    return OptimizerState(zeros, own.step)


def _with_other(keys: tuple[str, ...]) -> Cell:
    """Own moments, but those named in `keys` from the other history."""

    def cell(own: TrainingState, other: TrainingState, anchor: TrainingState) -> OptimizerState:
        mixed = {
            name: {key: other.moments[name][key] if key in keys else moment for key, moment in kept.items()}
            for name, kept in own.moments.items()
        }
        return OptimizerState(mixed, own.step)

    return cell


CELLS: dict[str, Cell] = {
    "own": lambda own, other, anchor: OptimizerState(own.moments, own.step),
    "other": lambda own, other, anchor: OptimizerState(other.moments, other.step),
    "first moment": _with_other(FIRST),
    "second moment": _with_other(SECOND),
    "anchor": lambda own, other, anchor: OptimizerState(anchor.moments, anchor.step),
    "reset": lambda own, other, anchor: OptimizerState({}, 0),
    "zeroed": _zeroed,
}
"""Cell → its optimizer state. `first moment` and `second moment` name what comes from the other history."""

WHAT = {
    "own": "its own moments and age",
    "other": "the other history's moments and age",
    "first moment": "the other history's first moment, own second moment and age",
    "second moment": "the other history's second moment, own first moment and age",
    "anchor": "the anchor's moments and age",
    "reset": "no moments, age 0",
    "zeroed": "moments set to 0, own age",
}
"""A cell in words."""


def transplanted(own: TrainingState, other: TrainingState, anchor: TrainingState, cell: str) -> TrainingState:
    """`own` with the optimizer state of a cell; its clock stays, `step` becomes the cell's age.

    Raises:
        KeyError: a cell that does not exist.
    """
    given = CELLS[cell](own, other, anchor)
    return replace(own, moments=given.moments, step=given.step)


def kept_moments(config: OptimizerConfig) -> tuple[str, ...]:
    """Names of the moments that an optimizer keeps for every parameter; none for plain SGD."""
    if config.name in ("adamw", "adam"):
        return ("exp_avg", "exp_avg_sq")
    return ("momentum_buffer",) if config.name == "momentum" and config.momentum else ()


def refuse_unrelated(below: TrainingState, above: TrainingState, anchor: TrainingState) -> None:
    """UserError unless both are branches of the anchor on one data order, at one position, with optimizer state.

    Training states do not record their ancestor's hash; whoever reads them from checkpoints compares that.
    """
    for name, state in (("from below", below), ("from above", above), ("the anchor", anchor)):
        _refuse_without_moments(name, state)
    if (below.branch, above.branch) != ("below", "above"):
        raise UserError(
            f"the states come from {below.branch} and from {above.branch}; give from below first, then from above."
        )
    if anchor.branch is not None:
        raise UserError(f"the anchor comes from {anchor.branch}; give the common ancestor of both branches.")
    if not below.setup == above.setup == anchor.setup:
        seeds = f"{below.setup.seed}, {above.setup.seed}, and {anchor.setup.seed}"
        raise UserError(f"set-ups differ (seeds {seeds}); give two branches and the anchor that both descend from.")
    for what in ("order", "position", "step"):
        pair = getattr(below, what), getattr(above, what)
        if pair[0] != pair[1]:
            raise UserError(f"from below and from above have {what} {pair[0]} and {pair[1]}; give two of the same.")
    if below.step - below.position != anchor.step:
        raise UserError(
            f"the branches left their anchor at step {below.step - below.position}, this anchor is at {anchor.step};"
            " give the anchor that both descend from."
        )


def _refuse_without_moments(name: str, state: TrainingState) -> None:
    needed = kept_moments(state.setup.training.optimizer)
    whole = all(set(needed) <= set(state.moments.get(parameter, ())) for parameter in state.weights)
    if needed and state.step and not whole:
        raise UserError(
            f"{name} keeps no optimizer state ({', '.join(needed)}), and a transplant needs checkpoints with optimizer"
            " state; use ones saved with it (save_optimizer in the study)."
        )
