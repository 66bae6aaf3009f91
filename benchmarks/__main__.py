"""`python -m benchmarks [--quick] [--out DIR]`: measure everything, write latest.json, and the table into the README.

Exits with 1 when a fast path and its peer do not give the same results, whatever their speed.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from benchmarks import growth, stages, startup, sweeps, training
from benchmarks.pairs import Measure, wait_for_quiet
from benchmarks.table import LATEST, details, shown_in, table
from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.config.study import load_study
from hyst_interp.history.state import TrainingState
from hyst_interp.storage.checkpoint import load
from hyst_interp.study.execute import process_pool
from hyst_interp.study.reproduce import reproduce
from hyst_interp.tasks.registry import task_of

ROOT = Path(__file__).resolve().parent.parent
ORDER = ROOT / "checkpoints" / "seed-0" / "order-0"


def main(arguments: list[str]) -> int:
    """Run the benchmark; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds a measure, to see that it runs")
    parser.add_argument("--out", type=Path, default=LATEST.parent, help="directory of latest.json and latest.md")
    chosen = parser.parse_args(arguments)
    quick = chosen.quick
    quiet = wait_for_quiet(patience=0.0 if quick else 180.0)
    if not quiet["quiet"]:
        _say(f"the machine is not quiet: load {quiet['load_per_core']:.2f} a core")
    torch.set_num_threads(1)
    found: dict[str, Any] = {"schema": "hyst-interp/benchmark/1", "machine": machine(), "quiet": quiet, "quick": quick}
    found |= measured(quick)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "latest.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    text = table(found) + "\n\n" + details(found) + "\n"
    (chosen.out / "latest.md").write_text(text, "utf-8")
    if chosen.out == LATEST.parent and not quick:
        readme = ROOT / "README.md"
        readme.write_text(shown_in(readme.read_text("utf-8"), found), "utf-8")
    print(text)
    differ = [one["what"] for one in found["measures"] if not one["equal"]]
    if differ:
        print(f"The results differ: {', '.join(differ)}.", file=sys.stderr)
    return 1 if differ else 0


def measured(quick: bool) -> dict[str, Any]:
    """Everything that is measured, as JSON objects."""
    below, above = (fresh(ORDER / branch) for branch in ("below", "above"))
    anchors = [fresh(ROOT / "checkpoints" / f"seed-{seed}" / "anchor") for seed in (0, 1)]
    setup, pairs = below.setup, 2 if quick else 5
    task = task_of(setup)
    trials = task.twin(evaluation_trials(task, 64 if quick else 512), "value")
    updates = 5 if quick else 100
    plainly = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with (
        process_pool(1) as one,
        process_pool(2) as two,
        plainly as plain,
        tempfile.TemporaryDirectory() as scratch,
    ):
        for pool in (one, two):  # imports are left out
            list(pool.map(training.work, [anchors[0]] * 2, [1] * 2))
        found = [
            *_told(training.measures(anchors, one, two, plain, updates, pairs)),
            *_told(sweeps.measures(below.model(), trials, pairs)),
            *_told(growth.workers(anchors[0], one, two, updates, pairs)),
        ]
        study = load_study("tiny" if quick else "smoke").replace(seeds=[0], localization={"orders": 0})
        run = Path(scratch) / "run"
        reproduce(study, run, executor=two)
        found += _told(stages.measures(study, run, Path(scratch), pairs))
        grown = {
            "trials": growth.trials(below, above, (256, 512) if quick else (512, 2048, 8192, 32768)),
            "layers": growth.layers(setup, (2, 3) if quick else (2, 4, 8), len(trials)),
            "seeds": growth.seeds(anchors[0], two, (1, 2) if quick else (1, 2, 4, 8, 16), updates),
        }
    _say("memory and start-up")
    return {
        "measures": [one.to_json() for one in found],
        "growth": grown,
        "memory": growth.memory(ORDER / "below", ORDER / "above", 512 if quick else 200_000, 512 if quick else 20_000),
        "startup": startup.measures(ORDER / "below", ORDER / "above", 1 if quick else 5),
    }


def fresh(path: Path) -> TrainingState:
    """A checkpoint's weights with an optimizer that has seen nothing, so that everybody can start from it."""
    checkpoint = load(path)
    return TrainingState(checkpoint.manifest.setup, checkpoint.weights, {}, step=0, branch="below", order=0)


def machine() -> dict[str, Any]:
    """What it ran on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30,
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": version("torch").partition("+")[0],
        "transformer_lens": version("transformer-lens"),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _told(measures: Iterable[Measure]) -> list[Measure]:
    found = []
    for one in measures:
        _say(f"{one.what}: {one.ratio:.2f} ({one.low:.2f} to {one.high:.2f}), same results: {one.equal}")
        found.append(one)
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
