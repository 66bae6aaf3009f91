"""(a) Training updates against a straightforward TransformerLens script, in one process and with all cores."""

from collections.abc import Iterator
from concurrent.futures import Executor

import numpy as np
import torch

from benchmarks.pairs import Measure, compare, either_way
from benchmarks.peers import train
from hyst_interp.comparison.pair_data import evaluation_trials
from hyst_interp.history.advance import advance
from hyst_interp.history.schedule import hold_schedule
from hyst_interp.history.state import TrainingState
from hyst_interp.readout import measure

TOLERANCE = 1e-3


def margins(model, state: TrainingState) -> np.ndarray:
    """Margins of a network on evaluation trials, by the model's own forward."""
    trials = evaluation_trials(state.setup, 512)
    return measure(lambda tokens: model(tokens)[:, -1], trials)["margin"]


def work(state: TrainingState, updates: int) -> TrainingState:
    """One run's updates; what a worker is sent."""
    return advance(state, hold_schedule(updates, state.setup.p0))


def measures(anchors: list[TrainingState], pool: Executor, updates: int, pairs: int) -> Iterator[Measure]:
    """One run in this process; then one run a core at once, against the same runs one after the other."""
    states = list(anchors)

    def apart(ours: list[TrainingState], peers: list) -> float:
        return max(float(np.abs(margins(a.model(), a) - margins(b, a)).max()) for a, b in zip(ours, peers, strict=True))

    def one() -> list[TrainingState]:
        torch.set_num_threads(1)
        return [work(states[0], updates)]

    def side_by_side() -> list[TrainingState]:
        return list(pool.map(work, states, [updates] * len(states)))

    def peer(some: list[TrainingState]):
        return lambda: [train(state, hold_schedule(updates, state.setup.p0)) for state in some]

    script = "plain TransformerLens loop"
    yield compare(
        "training-one-process",
        f"{updates} updates, one process",
        script,
        one,
        either_way(peer(states[:1])),
        apart,
        TOLERANCE,
        goal=1.8,
        pairs=pairs,
    )
    yield compare(
        "training-aggregate",
        f"{len(states)} runs of {updates} updates, {len(states)} processes",
        f"{script}, one run after the other",
        side_by_side,
        either_way(peer(states)),
        apart,
        TOLERANCE,
        goal=2.5,
        pairs=pairs,
    )
