"""Execution: order, resume, failure, and the same bytes whatever happens on the way."""

import json
import random
import shutil
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import xarray as xr
from byte_hashes import hashes, science

from hyst_interp.config.study import StudyConfig, load_study
from hyst_interp.errors import UserError
from hyst_interp.storage.results import read_results
from hyst_interp.storage.run import LOG, stage_hash, study_text
from hyst_interp.study import execute as execution
from hyst_interp.study.execute import Event, InProcess, execute
from hyst_interp.study.plan import Stage, plan
from hyst_interp.study.reproduce import remake_report, reproduce

TINY = load_study("tiny")


def small_start(tiny_run: Path, root: Path, study: StudyConfig) -> None:
    """A run directory that already holds the tiny run's anchors, which other studies of the same set-up share."""
    for seed in study.seeds:
        shutil.copytree(tiny_run / f"seed-{seed}" / "anchor", root / f"seed-{seed}" / "anchor")
    (root / "study.toml").write_text(study_text(study), "utf-8")


class OneThread(Executor):
    """Work on a thread of its own: another scheduler, as far as a study can tell."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1)

    def submit(self, fn, /, *args, **kwargs) -> Future:
        return self.pool.submit(fn, *args, **kwargs)


class Shuffled(Executor):
    """One thread that takes any of the calls that wait, not the oldest."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.calls: list[tuple] = []
        self.more = threading.Semaphore(0)
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, fn, /, *args, **kwargs) -> Future:
        future: Future = Future()
        self.calls.append((future, fn, args))
        self.more.release()
        return future

    def _work(self) -> None:
        while True:
            self.more.acquire()
            future, fn, args = self.calls.pop(self.draw.randrange(len(self.calls)))
            try:
                future.set_result(fn(*args))
            except BaseException as error:
                future.set_exception(error)


class KilledError(RuntimeError):
    """Stands for a process that dies between two stages."""


class DiesAfter(InProcess):
    """An executor whose machine goes away after some stages."""

    def __init__(self, stages: int) -> None:
        self.left = stages

    def submit(self, fn, /, *args, **kwargs):
        if self.left == 0:
            raise KilledError("power cut")
        self.left -= 1
        return super().submit(fn, *args, **kwargs)


def test_a_finished_run_has_the_layout_that_people_read(tiny_run: Path) -> None:
    for name in (
        "study.toml",
        "log.jsonl",
        "report.html",
        "results/behaviour.nc",
        "results/claims.json",
        "seed-0/anchor/checkpoint.json",
        "seed-0/anchor/optimizer.safetensors",
        "seed-1/order-1/above/hold-025/weights.safetensors",
        "seed-0/order-0/below/hold-000/optimizer.safetensors",
    ):
        assert (tiny_run / name).is_file(), name
    assert list((tiny_run / "figures").glob("*.html"))
    assert not list(tiny_run.rglob("*.part*"))


def test_interrupted_and_resumed_in_another_order_gives_the_same_bytes_and_repeats_no_stage(
    tiny_run: Path, tmp_path: Path
) -> None:
    root = tmp_path / "again"
    with pytest.raises(KilledError):
        reproduce(TINY, root, executor=DiesAfter(9))
    whole = {stage.title for stage in plan(TINY) if stage_hash(root / stage.directory) == stage.digest}
    assert len(whole) == 9
    (root / "seed-0" / ".order-1.123.part").mkdir()
    events: list[Event] = []
    reproduce(TINY, root, resume=True, executor=Shuffled(1), listener=events.append)
    assert {event.stage.title for event in events if event.kind == "kept"} == whole
    ran = [event.stage.title for event in events if event.kind == "done"]
    assert ran != [stage.title for stage in plan(TINY) if stage.title not in whole]
    assert sorted([*ran, *whole]) == sorted(stage.title for stage in plan(TINY))
    logged = [json.loads(line) for line in (root / LOG).read_text().splitlines()]
    assert [entry["stage"] for entry in logged if entry["event"] == "done"][-len(ran) :] == ran
    assert science(root) == science(tiny_run)


def test_a_second_resume_runs_nothing(tiny_run: Path, tmp_path: Path) -> None:
    root = tmp_path / "run"
    shutil.copytree(tiny_run, root)
    events: list[Event] = []
    reproduce(TINY, root, resume=True, executor=InProcess(), listener=events.append)
    assert {event.kind for event in events} == {"kept"}
    assert len(events) == len(plan(TINY))


def test_a_missing_or_altered_stage_is_made_again_with_all_that_follow(tiny_run: Path, tmp_path: Path) -> None:
    root = tmp_path / "run"
    shutil.copytree(tiny_run, root)
    shutil.rmtree(root / "seed-1" / "order-0" / "results" / "behaviour")
    events: list[Event] = []
    reproduce(TINY, root, resume=True, executor=InProcess(), listener=events.append)
    assert [e.stage.kind for e in events if e.kind == "done"] == ["behaviour", "collect", "report"]
    assert science(root) == science(tiny_run)


def test_delta_zero_is_an_exact_null_through_every_measurement(tiny_run: Path, tmp_path: Path) -> None:
    changes = {"seeds": [0], "orders": 1, "patching": TINY.patching.to_json() | {"orders": 1}}
    study = TINY.replace(schedule={"delta": 0.0, "levels": 2, "dwell": 5}, **changes)
    root = tmp_path / "null"
    root.mkdir()
    small_start(tiny_run, root, study)
    events: list[Event] = []
    outcome = reproduce(study, root, resume=True, executor=InProcess(), listener=events.append)
    assert [e.stage.kind for e in events if e.kind == "kept"] == ["anchor"]
    order = root / "seed-0" / "order-0"
    weights = hashes(order, "*/hold-*/*.safetensors")
    below = {name.removeprefix("below/"): value for name, value in weights.items() if name.startswith("below")}
    above = {name.removeprefix("above/"): value for name, value in weights.items() if name.startswith("above")}
    assert below
    assert below == above
    for path in (root / "results").glob("*.nc"):
        found = read_results(path)
        for name in found.data_vars:
            if "branch" in found[name].dims and name != "p":
                pair = [found[name].sel(branch=branch, drop=True) for branch in ("below", "above")]
                xr.testing.assert_identical(*pair)
    rows = {row.key: row for row in outcome.rows}
    assert rows["arrival-gap"].estimate.estimate == 0.0
    assert rows["share-removed"].estimate.estimate is None
    assert rows["share-removed"].estimate.reason


def test_other_schedules_do_differ(tiny_run: Path) -> None:
    weights = hashes(tiny_run / "seed-0" / "order-0", "*/hold-000/weights.safetensors")
    assert len(set(weights.values())) == 2


def test_a_failing_stage_stops_new_ones_and_keeps_the_finished(tmp_path: Path) -> None:
    stages = tuple(Stage("toy", name, name, needs) for name, needs in (("a", ()), ("b", ("a",)), ("c", ("b",))))
    ran: list[str] = []

    def run(study: StudyConfig, root: Path, stage: Stage) -> dict:
        ran.append(stage.directory)
        if stage.directory == "b":
            raise UserError("b cannot be done; change it.")
        return {"seconds": 0.0}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "timed_stage", run)
        with pytest.raises(UserError, match="b cannot be done"):
            execute(TINY, tmp_path, stages, InProcess())
    assert ran == ["a", "b"]
    events = [json.loads(line)["event"] for line in (tmp_path / LOG).read_text().splitlines()]
    assert events == ["done", "failed"]


def test_stages_run_only_after_their_needs_on_any_executor(tmp_path: Path) -> None:
    stages = plan(TINY)
    finished: list[str] = []

    def run(study: StudyConfig, root: Path, stage: Stage) -> dict:
        assert set(stage.needs) <= set(finished)
        finished.append(stage.directory)
        return {"seconds": 0.0}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "timed_stage", run)
        execute(TINY, tmp_path, stages, OneThread())
    assert sorted(finished) == sorted(stage.directory for stage in stages)


def test_an_anchor_that_does_not_converge_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    training = TINY.training.to_json() | {"convergence": {"minimum_age": 0, "limit": 50}}
    study = TINY.replace(training=training, seeds=[0])
    with pytest.raises(UserError, match=r"anchor of seed 0 has not converged after 50 updates: .*; raise"):
        reproduce(study, tmp_path / "run", executor=InProcess())
    assert not (tmp_path / "run" / "seed-0").exists() or not list((tmp_path / "run" / "seed-0").iterdir())


def test_the_report_can_be_made_again_from_results_alone(tiny_run: Path, tmp_path: Path) -> None:
    root = tmp_path / "run"
    shutil.copytree(tiny_run, root)
    before = (root / "report.html").read_bytes()
    (root / "report.html").unlink()
    assert remake_report(root).read_bytes() == before
