"""Carry out a plan on any `concurrent.futures` executor, and never a stage whose directory is already whole.

Stages are submitted as soon as what they need is done. When one fails, no new one starts, those under way finish, and
their directories stay for `--resume`.
"""

import os
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from hyst_interp.config import StudyConfig
from hyst_interp.errors import UserError
from hyst_interp.study.ledger import Event, Ledger, Listener
from hyst_interp.study.plan import Stage
from hyst_interp.study.stages import run_stage

__all__ = ["Event", "InProcess", "Listener", "execute", "process_pool", "stop", "timed_stage"]


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
    study: StudyConfig,
    root: Path,
    stages: Sequence[Stage],
    executor: Executor,
    listener: Listener | None = None,
    first: Callable[[Ledger], None] | None = None,
) -> None:
    """Run every stage that is not done; UserError from a stage, or for a worker that died, after the others ended.

    `first` may do stages in this process before any is submitted, and says in the ledger which; the branches of a pair
    then stand or fall together.
    """
    ledger = Ledger(root, stages, listener, whole_pairs=first is not None)
    if first is not None:
        first(ledger)
    running: dict[Future, Stage] = {}
    failure: BaseException | None = None
    while running or (ledger.waiting and failure is None):
        for stage in ledger.ready() if failure is None else ():
            ledger.start(stage)
            running[executor.submit(timed_stage, study, root, stage)] = stage
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            stage = running.pop(future)
            error = future.exception()
            if error is None:
                ledger.finish(stage, future.result())
            else:
                ledger.fail(stage, error)
                failure = failure or error
        if failure is not None:
            running = {future: stage for future, stage in running.items() if not future.cancel()}
    if isinstance(failure, BrokenProcessPool):
        raise UserError("a worker process was killed before it finished; run the command again with --resume.")
    if failure is not None:
        raise failure
