"""(c) The smoke study's stages on plain paths and on fast paths, in one process, imports left out.

The anchor is the one stage whose end depends on rounding (it stops when it has converged), so it is timed over a fixed
number of updates, those that the study's own anchor took, with all its evaluations. Stages that look for the memory are
left out: on plain paths they alone would take longer than everything else.

Plain paths are the oracles that the tests hold the fast ones against: the model's own whole forward for every update
and evaluation, and the plain sweep for every replacement and patch. Both read the same checkpoints; what they write is
compared variable by variable.
"""

import math
import shutil
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
import xarray as xr

from benchmarks.pairs import Measure, timed
from hyst_interp.analysis.question import Orders
from hyst_interp.config import StudyConfig
from hyst_interp.config.study import setup_of
from hyst_interp.history.advance import trajectory
from hyst_interp.history.convergence import EVERY, TRIALS, evaluate
from hyst_interp.history.schedule import Schedule
from hyst_interp.history.state import initial_state
from hyst_interp.questions import questions
from hyst_interp.storage.checkpoint import load
from hyst_interp.streams import Stream
from hyst_interp.study.plan import Stage, plan
from hyst_interp.study.stages import run_stage
from hyst_interp.tasks.registry import task_of

TOLERANCE = 1e-4
TRAINED = 0.02
"""The same for margins along a branch: two orders of rounding drift apart over hundreds of updates."""
EARLY = 200
"""Updates of an anchor whose margins must agree within `TOLERANCE`; after a thousand nothing would."""
COVERS = tuple(
    f"hyst_interp.{module}.covers" for module in ("model.query_forward", "history.advance", "history.measured")
)
COVERS_MODEL = tuple(
    f"hyst_interp.{module}.covers_model"
    for module in (
        "interventions.cached_sweep",
        "interventions.cached_run",
        "interventions.references",
        "model.query_forward",
        "questions.gap.measure",
    )
)


@contextmanager
def plain_paths() -> Iterator[None]:
    """Everything by whole forwards and the plain sweep."""
    with ExitStack() as stack:
        for name in COVERS + COVERS_MODEL:
            stack.enter_context(patch(name, lambda model_or_config: False))
        yield


def measures(study: StudyConfig, run: Path, scratch: Path, pairs: int) -> Iterator[Measure]:
    """Every stage of the first seed's first order, each kind by itself, and their sum."""
    torch.set_num_threads(1)
    located = {q.stage.kind for q in questions() if q.stage is not None and q.stage.orders is Orders.LOCATED}
    stages = [s for s in plan(study) if s.seed == study.seeds[0] and s.order <= 0 and s.kind not in located]
    whole = [[0.0, 0.0] for _ in range(pairs)]
    same = True
    for stage in stages:
        job = _anchor if stage.kind == "anchor" else _stage
        times, apart = [], 0.0
        for index in range(pairs):
            seconds, results = {}, {}
            for way in ("fast", "plain") if index % 2 == 0 else ("plain", "fast"):
                root = scratch / way
                _inputs(stage, run, root)
                with plain_paths() if way == "plain" else ExitStack():
                    seconds[way], results[way] = timed(partial(job, study, run, root, stage))
            apart = max(apart, _difference(results["fast"], results["plain"]))
            times.append((seconds["fast"], seconds["plain"]))
            whole[index] = [total + one for total, one in zip(whole[index], times[-1], strict=True)]
        tolerance = TRAINED if stage.kind == "branch" else TOLERANCE
        same = same and apart <= tolerance
        yield _measure(f"stage-{stage.title.replace(' ', '-')}", f"stage {stage.title}", times, apart, tolerance)
    total = [(fast, plain) for fast, plain in whole]
    yield _measure(
        "stages", "all stages of one seed and order but localization", total, 0.0 if same else math.inf, 0.0, goal=3.0
    )


def _stage(study: StudyConfig, run: Path, root: Path, stage: Stage) -> dict[str, np.ndarray]:
    """One stage as a study runs it; every variable of every file that it writes."""
    run_stage(study, root, stage)
    found = {}
    for path in sorted((root / stage.directory).glob("*.nc")):
        content = xr.load_dataset(path, engine="h5netcdf")
        found |= {f"{path.name}/{name}": value.values for name, value in content.data_vars.items()}
    return found


def _anchor(study: StudyConfig, run: Path, root: Path, stage: Stage) -> dict[str, np.ndarray]:
    """As many updates and evaluations as the study's anchor took; the margins of the early ones."""
    setup = setup_of(study, stage.seed)
    last = load(run / stage.directory).manifest.provenance.step
    trials = task_of(setup).trials(Stream("convergence", setup.seed), TRIALS)
    schedule = Schedule(np.full(last, setup.p0), np.arange(last), "anchor", setup.p0)
    states = trajectory(initial_state(setup), schedule, at=range(EVERY, last + 1, EVERY))
    margins = [evaluate(state, trials).margin for state in states]
    return {"margin": np.array(margins[: EARLY // EVERY])}


def _inputs(stage: Stage, run: Path, root: Path) -> None:
    """A directory that holds what the stage reads, from the finished run, and nothing else."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    shutil.copy(run / "study.toml", root / "study.toml")
    for need in stage.needs:
        shutil.copytree(run / need, root / need)


def _difference(fast: dict[str, np.ndarray], plain: dict[str, np.ndarray]) -> float:
    """Largest absolute difference of any variable; infinite where variables or shapes differ."""
    if fast.keys() != plain.keys() or not fast:
        return math.inf
    worst = 0.0
    for name, one in fast.items():
        other = plain[name]
        if one.shape != other.shape or not np.array_equal(np.isnan(one), np.isnan(other)):
            return math.inf
        worst = max(worst, float(np.nanmax(np.abs(one.astype(float) - other.astype(float)))))
    return worst


def _measure(
    key: str, what: str, times: list[tuple[float, float]], apart: float, tolerance: float, goal: float | None = None
) -> Measure:
    ratios = [plain / fast for fast, plain in times]
    return Measure(
        key=key,
        what=what,
        peer="the same stage on plain paths",
        ours_seconds=statistics.median(fast for fast, _ in times),
        peer_seconds=statistics.median(plain for _, plain in times),
        ratio=statistics.median(ratios),
        low=min(ratios),
        high=max(ratios),
        pairs=len(times),
        goal=goal,
        equal=apart <= tolerance,
        difference=apart,
        tolerance=tolerance,
    )
