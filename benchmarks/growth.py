"""(d) How time and memory grow with trials, layers, seeds, and workers."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.pairs import Measure, compare, timed
from benchmarks.training import work
from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.config import SetUp
from hyst_interp.history.state import TrainingState, initial_state
from hyst_interp.interventions.patching import patching_map
from hyst_interp.questions.attenuation.measure import attenuation

MEMORY = """
import json, resource, sys, time
start = time.perf_counter()
import torch
torch.set_num_threads(1)
from hyst_interp.facade import pair
found = pair({below!r}, {above!r}, trials={attenuate})
if {attenuate} > 2:
    found.attenuation()
else:
    from hyst_interp.interventions.patching import patching_map
    from hyst_interp.analysis.pair_data import evaluation_trials
    task = found.below.task
    trials = task.twin(evaluation_trials(found.below.task, {sweep}), "value")
    patching_map(found.data.below, trials, "result", axis="position")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({{"seconds": time.perf_counter() - start, "peak_bytes": peak}}))
"""


def trials(below: TrainingState, above: TrainingState, numbers: tuple[int, ...]) -> list[dict[str, Any]]:
    """Seconds of the whole default table of `attenuate` (three references) on more and more trials."""
    task, rows = below.task, []
    for number in numbers:
        data = PairData(below.model(), above.model(), evaluation_trials(task, number), mean_inputs(task, 4096), task)
        plan = {reference: data.sets("each,heads,mlps,all") for reference in ("own-mean", "pooled-mean", "donor")}
        seconds, _ = timed(lambda data=data, plan=plan: attenuation(data, plan))
        rows.append({"trials": number, "seconds": seconds, "microseconds_a_trial": 1e6 * seconds / number})
    return rows


def layers(setup: SetUp, numbers: tuple[int, ...], n_trials: int) -> list[dict[str, Any]]:
    """Seconds of a heads × positions sweep of untrained networks with more and more layers."""
    rows = []
    for number in numbers:
        deep = SetUp(
            seed=setup.seed,
            p0=setup.p0,
            task=setup.task,
            model=setup.model.model_copy(update={"n_layers": number}),
            training=setup.training,
        )
        state = initial_state(deep)
        some, model = state.task.twin(evaluation_trials(state.task, n_trials), "value"), state.model()
        seconds, _ = timed(lambda model=model, some=some: patching_map(model, some, "result", axis="position"))
        rows.append({"layers": number, "cells": number * setup.model.n_heads * setup.task.n_ctx, "seconds": seconds})
    return rows


def seeds(state: TrainingState, pool: Executor, numbers: tuple[int, ...], updates: int) -> list[dict[str, Any]]:
    """Seconds for more and more histories of one length on all cores."""
    rows = []
    for number in numbers:
        states = [replace(state, branch="below", order=order) for order in range(number)]
        seconds, _ = timed(lambda states=states: list(pool.map(work, states, [updates] * len(states))))
        rows.append({"histories": number, "seconds": seconds, "updates_a_second": number * updates / seconds})
    return rows


def workers(state: TrainingState, one: Executor, two: Executor, updates: int, pairs: int) -> Iterator[Measure]:
    """Four histories with two workers against the same with one."""
    states = [replace(state, branch="below", order=order) for order in range(4)]

    def on(pool: Executor):
        return lambda: [s.weights_hash() for s in pool.map(work, states, [updates] * len(states))]

    yield compare(
        "workers",
        f"4 histories of {updates} updates, two workers",
        "one worker",
        on(two),
        {"one worker": on(one)},
        lambda a, b: float(a != b),
        0.0,
        goal=1.8,
        pairs=pairs,
        unit="files that differ",
    )


def memory(below: Path, above: Path, attenuate: int, sweep: int) -> dict[str, Any]:
    """Peak resident memory, in processes of their own, of `attenuate` and of a heads × positions sweep."""
    found = {}
    for name, number in (("attenuate", attenuate), ("sweep", 2)):
        code = MEMORY.format(below=str(below), above=str(above), attenuate=number, sweep=sweep)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        found[name] = {"trials": attenuate if name == "attenuate" else sweep, **json.loads(done.stdout)}
    return found


torch.set_num_threads(1)
