"""The main job: from a configuration to a table and a report, whole, resumable, in one directory."""

import json
import os
import time
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hyst_interp.config import StudyConfig
from hyst_interp.storage.atomic import clear_parts
from hyst_interp.storage.run import Run, locked, open_run
from hyst_interp.study.execute import Listener, execute, process_pool, stop
from hyst_interp.study.plan import plan

if TYPE_CHECKING:
    from hyst_interp.claims import Row


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
) -> Outcome:
    """Run `study` in `out`, or finish it with `resume`; `workers` defaults to the number of cores.

    An own `executor` (of any kind, on a shared file system) is used instead of a pool of processes and not shut down.
    Raises UserError for a directory that is taken, an anchor that does not converge, or a killed worker.
    """
    start = time.perf_counter()
    run = open_run(out, study, resume)
    with locked(run):
        clear_parts(run.root)
        stages = plan(study)
        if executor is not None:
            execute(study, run.root, stages, executor, listener)
        else:
            with process_pool(workers or os.cpu_count() or 1) as pool:
                try:
                    execute(study, run.root, stages, pool, listener)
                except KeyboardInterrupt:
                    stop(pool)
                    raise
    return Outcome(read_rows(run), run.root, time.perf_counter() - start)


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
