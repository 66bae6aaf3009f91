"""The main job: from a configuration to a table and a report, whole, resumable, in one directory."""

import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hyst_interp.config import StudyConfig
from hyst_interp.errors import UserError
from hyst_interp.storage.atomic import clear_parts
from hyst_interp.storage.run import Run, locked, open_run
from hyst_interp.study.execute import Listener, execute, process_pool, stop
from hyst_interp.study.plan import plan

if TYPE_CHECKING:
    from hyst_interp.claims import Row
    from hyst_interp.study.ledger import Ledger


@dataclass(frozen=True)
class Outcome:
    """What a run ended with."""

    rows: "list[Row]"
    """The paper's claims beside this run."""
    run: Path
    seconds: float
    """How long this call took."""


def reproduce(
    study: StudyConfig,
    out: Path,
    workers: int | None = None,
    resume: bool = False,
    executor: Executor | None = None,
    listener: Listener | None = None,
    cluster: str | None = None,
) -> Outcome:
    """Run `study` in `out`, or finish it with `resume`; `workers` defaults to the number of cores.

    An own `executor` (of any kind, on a shared file system) is used instead of a pool of processes and not shut down;
    so is the dask cluster whose scheduler listens at the address `cluster`, `tcp://host:port`.
    A study for a GPU is trained in this process, in lockstep; everything else is the executor's as before.
    Raises UserError for a directory that is taken, a GPU that is not there, an anchor that does not converge, or a
    killed worker.
    """
    start = time.perf_counter()
    first = _training(study, cluster)
    with _executor(out, workers, executor, cluster) as somewhere:
        run = open_run(out, study, resume)
        with locked(run):
            clear_parts(run.root)
            execute(study, run.root, plan(study), somewhere, listener, first)
            clear_parts(run.root)  # of workers that died, and whose stages others did
    return Outcome(read_rows(run), run.root, time.perf_counter() - start)


@contextmanager
def _executor(out: Path, workers: int | None, given: Executor | None, cluster: str | None) -> Iterator[Executor]:
    """The executor that was given, the cluster's, or a pool of processes; the cluster is checked before `out` is."""
    if (given is not None) + (cluster is not None) + (workers is not None) > 1:
        raise UserError("workers, an executor and a cluster exclude one another; pass one of them.")
    if given is not None:
        yield given
    elif cluster is not None:
        from hyst_interp.study.cluster import cluster as connected

        with connected(cluster, out) as remote:
            yield remote
    else:
        with process_pool(workers or os.cpu_count() or 1) as pool:
            try:
                yield pool
            except KeyboardInterrupt:
                stop(pool)
                raise


def _training(study: StudyConfig, cluster: str | None) -> "Callable[[Ledger], None] | None":
    """What trains the histories in this process, all together, on a study's GPU; None where the stages do it."""
    if study.device == "cpu":
        return None
    if cluster is not None:
        raise UserError(
            f"device '{study.device}' trains all histories on this machine's GPU, and the cluster '{cluster}' would"
            " train them on its workers; pass one of them."
        )
    from hyst_interp.study.lockstep import refuse_device, train_together

    refuse_device(study)
    return lambda ledger: train_together(study, ledger, study.device)


def read_rows(run: Run) -> "list[Row]":
    """The judged claims of a finished run."""
    from hyst_interp.claims import Row

    content = json.loads((run.results / "claims.json").read_text("utf-8"))
    return [Row.from_dict(row) for row in content["rows"]]


def remake_report(root: Path) -> Path:
    """Write `report.html` and the figures of a finished run again, from its results; returns the report's path."""
    from hyst_interp.study.stages import run_stage

    run = Run(root)
    study = run.study()
    with locked(run):
        run_stage(study, run.root, plan(study)[-1])
    return run.report
