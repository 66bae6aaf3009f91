"""Carry out a plan on any `concurrent.futures` executor, and never a stage whose directory is already whole.

Stages are submitted as soon as what they need is done. When one fails, no new one starts, those under way finish, and
their directories stay for `--resume`.
"""

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from hyst_interp.config import StudyConfig
from hyst_interp.errors import UserError
from hyst_interp.storage.run import LOG, stage_hash
from hyst_interp.study.plan import Stage
from hyst_interp.study.stages import run_stage


@dataclass(frozen=True)
class Event:
    """What happened to a stage: `kept`, `done`, or `failed`."""

    kind: str
    stage: Stage
    finished: int
    """Stages that are done now."""
    total: int
    seconds: float
    """How long it took."""


Listener = Callable[[Event], None]


class InProcess(Executor):
    """An executor that runs everything at once, here: for tests, notebooks, and debugging."""

    def submit(self, fn, /, *args, **kwargs):
        """Run now; the future is already done."""
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


def process_pool(workers: int) -> ProcessPoolExecutor:
    """A pool of worker processes; TransformerLens is imported once, in the process that they fork from."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["hyst_interp.study.worker"])
    return ProcessPoolExecutor(workers, mp_context=context)


def stop(pool: ProcessPoolExecutor) -> None:
    """End a pool's workers at once; a stage that is under way leaves nothing behind but a part that resume clears."""
    workers = list((pool._processes or {}).values())  # a shutdown forgets them
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()


def timed_stage(study: StudyConfig, root: Path, stage: Stage) -> dict:
    """Run one stage and say where and how long."""
    start = time.perf_counter()
    run_stage(study, root, stage)
    return {"seconds": time.perf_counter() - start, "host": platform.node(), "worker": os.getpid()}


def execute(
    study: StudyConfig, root: Path, stages: Sequence[Stage], executor: Executor, listener: Listener | None = None
) -> None:
    """Run every stage that is not done; UserError from a stage, or for a worker that died, after the others ended."""
    done: set[str] = set()
    waiting: list[Stage] = []
    remade: set[str] = set()
    for stage in stages:
        stale = any(need in remade for need in stage.needs)
        if not stale and stage_hash(root / stage.directory) == stage.digest:
            done.add(stage.directory)
            _log(root, {"event": "kept", "stage": stage.title})
            _tell(listener, Event("kept", stage, len(done), len(stages), 0.0))
        else:
            remade.add(stage.directory)
            waiting.append(stage)
    running: dict[Future, Stage] = {}
    failure: BaseException | None = None
    while running or (waiting and failure is None):
        for stage in [s for s in waiting if failure is None and done.issuperset(s.needs)]:
            waiting.remove(stage)
            running[executor.submit(timed_stage, study, root, stage)] = stage
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            stage = running.pop(future)
            error = future.exception()
            if error is None:
                done.add(stage.directory)
                found = future.result()
                _log(root, {"event": "done", "stage": stage.title, **found})
                _tell(listener, Event("done", stage, len(done), len(stages), found["seconds"]))
            else:
                _log(root, {"event": "failed", "stage": stage.title, "error": str(error)})
                _tell(listener, Event("failed", stage, len(done), len(stages), 0.0))
                failure = failure or error
    if isinstance(failure, BrokenProcessPool):
        raise UserError("a worker process was killed before it finished; run the command again with --resume.")
    if failure is not None:
        raise failure


def _tell(listener: Listener | None, event: Event) -> None:
    if listener is not None:
        listener(event)


def _log(root: Path, entry: dict) -> None:
    """Append to the run's log, the only file that knows clocks, hosts, and durations."""
    line = json.dumps({"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **entry}, ensure_ascii=False)
    with (root / LOG).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
