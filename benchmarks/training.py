"""(a) Training updates against a straightforward TransformerLens script, in one process and with all cores.

Ours run in a study's own worker processes. The peer has a process of its own, as a script would, with one thread and
with torch's default number of threads; the better one counts.
"""

from collections.abc import Iterator
from concurrent.futures import Executor

import numpy as np
import torch

from benchmarks.pairs import DEFAULT_THREADS, Measure, compare
from benchmarks.peers import train
from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.history.advance import advance
from hyst_interp.history.measured import measured_weights
from hyst_interp.history.schedule import hold_schedule
from hyst_interp.history.state import TrainingState
from hyst_interp.model.build import Weights

TOLERANCE = 1e-3


def margins(state: TrainingState, weights: Weights) -> np.ndarray:
    """Margins on evaluation trials of a network of the state's shape."""
    return measured_weights(state.setup, weights, evaluation_trials(state.task, 512))["margin"]


def work(state: TrainingState, updates: int) -> TrainingState:
    """One run's updates; what a worker is sent."""
    return advance(state, hold_schedule(updates, state.setup.p0))


def script(states: list[TrainingState], updates: int, threads: int) -> list[Weights]:
    """The peer's runs, one after the other; what its process is sent."""
    torch.set_num_threads(threads)
    models = [train(state, hold_schedule(updates, state.setup.p0)) for state in states]
    return [{name: value.detach() for name, value in model.named_parameters()} for model in models]


def measures(
    anchors: list[TrainingState], one: Executor, two: Executor, plain: Executor, updates: int, pairs: int
) -> Iterator[Measure]:
    """One run in one process; then one run a core at once, against the same runs one after the other."""

    def apart(ours: list[TrainingState], theirs: list[Weights]) -> float:
        found = zip(anchors, ours, theirs, strict=False)
        return max(float(np.abs(margins(a, b.weights) - margins(a, c)).max()) for a, b, c in found)

    def ours(pool: Executor, states: list[TrainingState]):
        return lambda: list(pool.map(work, states, [updates] * len(states)))

    def theirs(states: list[TrainingState]):
        ways = {"one thread": 1} | ({f"{DEFAULT_THREADS} threads": DEFAULT_THREADS} if DEFAULT_THREADS > 1 else {})
        return {
            way: lambda number=number: plain.submit(script, states, updates, number).result()
            for way, number in ways.items()
        }

    name = "plain TransformerLens loop"
    yield compare(
        "training-one-process",
        f"{updates} updates, one process",
        name,
        ours(one, anchors[:1]),
        theirs(anchors[:1]),
        apart,
        TOLERANCE,
        goal=1.8,
        pairs=pairs,
    )
    yield compare(
        "training-aggregate",
        f"{len(anchors)} runs of {updates} updates, {len(anchors)} processes",
        f"{name}, one run after the other",
        ours(two, anchors),
        theirs(anchors),
        apart,
        TOLERANCE,
        goal=2.5,
        pairs=pairs,
    )
