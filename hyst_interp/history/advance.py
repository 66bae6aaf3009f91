"""Taking updates: `advance` for the end of a schedule, `trajectory` for snapshots along it.

Both are pure: the state that goes in is unchanged, and what comes out depends on nothing but the state and the steps.
The loss is cross-entropy at the query; its target at every step is decided by the batch's own uniform draws and the
step's mixture.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch.nn import functional

from hyst_interp.history.guard import one_thread
from hyst_interp.history.optimizer import Moments, build_optimizer, read_moments
from hyst_interp.history.schedule import Schedule, tau
from hyst_interp.history.state import TrainingState
from hyst_interp.model.build import Weights
from hyst_interp.model.query_forward import covers, query_forward
from hyst_interp.streams import Stream


def advance(state: TrainingState, steps: Schedule) -> TrainingState:
    """The state after all `steps`, shares no tensor with `state`."""
    return list(trajectory(state, steps, at=[len(steps)]))[-1]


def trajectory(state: TrainingState, schedule: Schedule, at: Iterable[int]) -> Iterator[TrainingState]:
    """Snapshots after `at` steps of `schedule` (0 … its length, increasing), while it is being run.

    Raises ValueError for positions that are not increasing or lie beyond the schedule, before any update.
    """
    return _trajectory(state, schedule, increasing(at, len(schedule)))


def increasing(at: Iterable[int], length: int) -> list[int]:
    """Positions as a list; ValueError where they do not increase within 0 … `length`."""
    wanted = list(at)
    if wanted != sorted(set(wanted)) or (wanted and not 0 <= wanted[0] <= wanted[-1] <= length):
        raise ValueError(f"positions {wanted} must increase within 0 … {length}")
    return wanted


def moved(
    state: TrainingState, clock: Float[np.ndarray, " position"], done: int, weights: Weights, moments: Moments
) -> TrainingState:
    """`state` after `done` updates of the schedule whose τ is `clock`: the new tensors, and every clock moved on."""
    since = clock[done]
    if since != since:
        since = None if state.tau is None else state.tau + done
    return replace(
        state,
        weights=weights,
        moments=moments,
        step=state.step + done,
        position=0 if state.branch is None else state.position + done,
        tau=None if since is None else int(since),
    )


def _trajectory(state: TrainingState, schedule: Schedule, wanted: list[int]) -> Iterator[TrainingState]:
    setup, training = state.setup, state.setup.training
    task, stream = state.task, Stream(schedule.role, setup.seed, state.order)
    clock = tau(schedule.p, schedule.p0)
    model = state.model()
    parameters = dict(model.named_parameters())
    optimizer = build_optimizer(training.optimizer, parameters, state.moments, state.step)

    def snapshot(done: int) -> TrainingState:
        weights = {name: parameter.detach().clone() for name, parameter in parameters.items()}
        return moved(state, clock, done, weights, read_moments(optimizer, parameters))

    def answers(tokens: torch.Tensor) -> torch.Tensor:
        # the model was built here, from this config, and nobody else holds it: the config alone decides
        return query_forward(setup.model, parameters, tokens) if covers(setup.model) else model(tokens)[:, -1]

    remaining = list(wanted)
    for done in range(len(schedule) + 1):
        if remaining and remaining[0] == done:
            remaining.pop(0)
            yield snapshot(done)
        if not remaining:
            return
        batch = task.batch(stream, int(schedule.batch[done]), training.batch_size)
        tokens, targets = torch.from_numpy(batch.tokens), torch.from_numpy(batch.targets(float(schedule.p[done])))
        with one_thread():
            loss = functional.cross_entropy(answers(tokens), targets)
            optimizer.zero_grad()
            loss.backward()
            for parameter in parameters.values():
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
            if training.optimizer.clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(parameters.values(), training.optimizer.clip_norm)
            optimizer.step()
