"""Many histories in lockstep: `trajectory_together` is `advance.trajectory` for seeds, orders, and branches at once.

Members never meet: the loss is the sum of their own losses, so the gradient of one does not see the others, and every
member has its own batches, mixtures, and age. What is gained is that a GPU, which one small model leaves idle, takes a
whole update of all members in the operations of one. On a CPU nothing is gained.

A member's history equals the one that `advance` gives up to rounding (batched matrix products add in another order,
attention is written out). Within one ensemble equal members stay equal bit for bit, so the exact null holds. On the
same device and the same torch, the same members give the same bits again, as far as torch's deterministic kernels reach
(where one is missing torch warns); another GPU, another torch, or other members in the ensemble may round differently.

The batches are those of `advance`: drawn in numpy on the CPU, a block of updates ahead on a thread of its own, each
draw once however many members share it, and brought to the device in one transfer a block.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from hyst_interp.history.advance import increasing, moved
from hyst_interp.history.ensemble_optimizer import Layout, factors, stack_moments, update
from hyst_interp.history.guard import repeatable
from hyst_interp.history.schedule import Schedule, tau
from hyst_interp.history.state import TrainingState
from hyst_interp.model.query_forward import covers, query_forward
from hyst_interp.streams import Stream

BLOCK = 32
"""Updates whose batches are prepared together."""


def trajectory_together(
    states: Sequence[TrainingState],
    schedules: Sequence[Schedule],
    at: Iterable[int],
    device: torch.device | str = "cpu",
) -> Iterator[list[TrainingState]]:
    """Snapshots of every member after `at` updates (0 … the schedules' length, increasing), while all are being run.

    Member i runs `schedules[i]` from `states[i]`, which are unchanged; snapshots are on the CPU and share no memory.
    Raises ValueError before any update where `at` does not increase within the schedules, and for members that differ
    in model, task, batch size, optimizer, or length of schedule, or whose model the query-position forward leaves out.
    """
    refuse_unlike(states, schedules)
    return _trajectories(list(states), list(schedules), increasing(at, len(schedules[0])), torch.device(device))


def refuse_unlike(states: Sequence[TrainingState], schedules: Sequence[Schedule]) -> None:
    """ValueError unless the members can be run in lockstep."""
    if not states or len(states) != len(schedules):
        raise ValueError(f"there are {len(states)} states and {len(schedules)} schedules; give one schedule a state")
    lengths = sorted({len(schedule) for schedule in schedules})
    if len(lengths) > 1:
        raise ValueError(f"schedules have {lengths[0]} to {lengths[-1]} updates; members need equally long ones")
    first = states[0].setup
    if not covers(first.model):
        raise ValueError(
            f"the query-position forward does not cover {first.model!r}, so it cannot be trained in an ensemble;"
            " use advance for each member"
        )
    for state in states:
        setup = state.setup
        for part, own, other in (
            ("model", setup.model, first.model),
            ("task", setup.task, first.task),
            ("batch_size", setup.training.batch_size, first.training.batch_size),
            ("optimizer", setup.training.optimizer, first.training.optimizer),
        ):
            if own != other:
                raise ValueError(f"members differ in {part} ({own!r} and {other!r}); make one ensemble of each")


@dataclass(frozen=True)
class _Block:
    """The inputs of a block of updates, on the device."""

    tokens: Int[torch.Tensor, "draw batch pos"]
    """Every batch that was drawn, once."""
    drawn: Int[torch.Tensor, "update member"]
    """Which of them a member learns from."""
    targets: Int[torch.Tensor, "update member batch"]
    aged: Float[torch.Tensor, "update member factor"]
    """What the optimizer needs to know of the members' ages."""

    def __len__(self) -> int:
        return len(self.drawn)


def _trajectories(
    states: list[TrainingState], schedules: list[Schedule], wanted: list[int], device: torch.device
) -> Iterator[list[TrainingState]]:
    setup = states[0].setup
    config, optimizer = setup.model, setup.training.optimizer
    layout = Layout.of(states[0].weights)
    clocks = [tau(schedule.p, schedule.p0) for schedule in schedules]
    rows = torch.stack([layout.row(state.weights) for state in states]).to(device)
    moments = stack_moments(optimizer, layout, [state.moments for state in states], device)
    views = {name: view.detach().requires_grad_() for name, view in layout.views(rows).items()}

    def loss_of(weights: dict[str, torch.Tensor], tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(query_forward(config, weights, tokens), targets)

    losses_of = torch.func.vmap(loss_of)

    def take_update(block: _Block, place: int) -> None:
        with repeatable(device), sdpa_kernel(SDPBackend.MATH):
            losses = losses_of(views, block.tokens[block.drawn[place]], block.targets[place])
            derivatives = torch.autograd.grad(
                losses.sum(), list(views.values()), materialize_grads=True, allow_unused=True
            )
            gradients = torch.cat([gradient.reshape(len(states), -1) for gradient in derivatives], dim=1)
            with torch.no_grad():
                update(optimizer, rows, moments, gradients, block.aged[place])

    def snapshot(done: int) -> list[TrainingState]:
        weights = layout.copies(rows.cpu())
        kept = {key: layout.copies(value.cpu()) for key, value in moments.items()}
        return [
            moved(
                state,
                clocks[member],
                done,
                weights[member],
                {name: {key: kept[key][member][name] for key in kept} for name in layout.shapes}
                if kept and (done or state.moments)
                else {},
            )
            for member, state in enumerate(states)
        ]

    remaining, done = list(wanted), 0
    for block in _ahead(_blocks(states, schedules, wanted[-1] if wanted else 0, device)):
        for place in range(len(block)):
            if remaining[0] == done:
                remaining.pop(0)
                yield snapshot(done)
            take_update(block, place)
            done += 1
    if remaining:
        yield snapshot(done)


def _blocks(
    states: list[TrainingState], schedules: list[Schedule], updates: int, device: torch.device
) -> Iterator[_Block]:
    """The first `updates` updates, block by block."""
    training = states[0].setup.training
    tasks = [state.task for state in states]
    streams = [
        Stream(schedule.role, state.setup.seed, state.order) for state, schedule in zip(states, schedules, strict=True)
    ]
    # an optimizer without moments starts anew, as torch's does, whatever the state's step
    ages = [state.step if state.moments else 0 for state in states]
    pinned = device.type == "cuda"

    def moved_over(array: np.ndarray) -> torch.Tensor:
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(device, non_blocking=True) if pinned else tensor.to(device)

    for start in range(0, updates, BLOCK):
        count = min(BLOCK, updates - start)
        batches, places = [], {}
        drawn = np.empty((count, len(states)), dtype=np.int64)
        targets = np.empty((count, len(states), training.batch_size), dtype=np.int64)
        for step in range(count):
            for member, (task, stream, schedule) in enumerate(zip(tasks, streams, schedules, strict=True)):
                index = int(schedule.batch[start + step])
                if (stream, index) not in places:
                    places[stream, index] = len(batches)
                    batches.append(task.batch(stream, index, training.batch_size))
                drawn[step, member] = places[stream, index]
                batch = batches[drawn[step, member]]
                targets[step, member] = batch.targets(float(schedule.p[start + step]))
        tokens = np.stack([batch.tokens for batch in batches])
        aged = factors(training.optimizer, [age + start for age in ages], count)
        yield _Block(moved_over(tokens), moved_over(drawn), moved_over(targets), moved_over(aged))


def _ahead(blocks: Iterator[_Block]) -> Iterator[_Block]:
    """The same blocks, each prepared while the one before it is in use."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = thread.submit(next, blocks, None)
            yield block
