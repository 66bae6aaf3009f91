"""A training state: everything that the next update depends on, frozen.

Weights, moments, step count, and position on the clock, together with the set-up that produced them. States are values:
`advance` returns new ones, and a fork shares no tensor with its origin, so stepping one branch cannot move another.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from hyst_interp.config import SetUp
from hyst_interp.config.frozen import canonical_json
from hyst_interp.history.optimizer import Moments
from hyst_interp.model.build import HookedTransformer, Weights, initial_weights, model_of
from hyst_interp.streams import Stream
from hyst_interp.tasks.protocol import Task
from hyst_interp.tasks.registry import task_of


@dataclass(frozen=True)
class TrainingState:
    """A frozen snapshot of training."""

    setup: SetUp
    weights: Weights
    """Parameters by name, float32, never written to."""
    moments: Moments
    """Optimizer moments by parameter name; empty before the first update, under plain SGD, or where not kept."""
    step: int
    """Updates since initialisation: the optimizer's age."""
    position: int = 0
    """Updates since the fork (0 for an anchor)."""
    tau: int | None = None
    """Updates since the last update at p ≠ p0; None before the first."""
    branch: str | None = None
    """`below` or `above` after a fork, None for an anchor."""
    order: int | None = None
    """Data order of the branch, None for an anchor."""

    @cached_property
    def task(self) -> Task:
        """What it is trained on: follows from the set-up, so no hash and no comparison sees it."""
        return task_of(self.setup)

    def model(self) -> HookedTransformer:
        """The state's network, as an ordinary HookedTransformer with its own copy of the weights."""
        return model_of(self.setup, self.weights)

    def weights_hash(self) -> str:
        """SHA-256 of names, shapes, types, and bytes of the weights."""
        return tensors_hash(self.weights)

    def hash(self) -> str:
        """SHA-256 of weights, moments, step, position, and set-up; on the same data, equal hashes continue alike.

        Branch and order are left out, so that the branches of an exact null are equal, as are fresh forks of an anchor.
        """
        moments = {f"{name}/{key}": value for name, state in self.moments.items() for key, value in state.items()}
        clock = {"step": self.step, "position": self.position, "setup": self.setup.to_json()}
        text = self.weights_hash() + tensors_hash(moments) + canonical_json(clock)
        return hashlib.sha256(text.encode()).hexdigest()


def tensors_hash(tensors: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 of named tensors: names, shapes, types, and bytes, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name}:{tuple(value.shape)}:{value.dtype};".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())  # numpy knows no bfloat16
    return digest.hexdigest()


def initial_state(setup: SetUp) -> TrainingState:
    """The state before the first update."""
    task = setup.task
    weights = initial_weights(setup.model, task.d_vocab, task.n_ctx, Stream("initialisation", setup.seed))
    return TrainingState(setup, weights, {}, step=0)


def fork(state: TrainingState, branch: str, order: int) -> TrainingState:
    """A branch that starts here: every tensor copied, the optimizer's age kept, the clock at position 0."""
    return replace(
        state,
        weights={name: value.clone() for name, value in state.weights.items()},
        moments={name: {k: v.clone() for k, v in moments.items()} for name, moments in state.moments.items()},
        position=0,
        tau=None,
        branch=branch,
        order=order,
    )
