"""A study on a dask.distributed cluster: what is refused before work starts, and the same bytes whatever happens."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from byte_hashes import science
from distributed import KilledWorker, LocalCluster

from hyst_interp.config.study import load_study
from hyst_interp.errors import UserError
from hyst_interp.study import cluster as clusters
from hyst_interp.study.cluster import check_address, check_directory, check_workers, cluster, versions
from hyst_interp.study.execute import Event
from hyst_interp.study.plan import plan
from hyst_interp.study.reproduce import reproduce

TINY = load_study("tiny")
GATE = threading.Event()
"""Workers of a cluster in this process wait for it."""


@pytest.fixture
def local() -> Iterator[Any]:
    """A scheduler and one worker in this process, of one thread."""
    GATE.clear()
    settings: Any = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=1, threads_per_worker=1, silence_logs=logging.CRITICAL, **settings) as found:
        yield found
        GATE.set()


class Answers:
    """A client whose workers `tcp://a:1` and `tcp://b:2` answer like this process, but for what is `changed` of b."""

    def __init__(self, threads: int = 1, **changed: object) -> None:
        self.threads, self.changed = threads, changed

    def nthreads(self) -> dict[str, int]:
        return {"tcp://a:1": 1, "tcp://b:2": self.threads}

    def run(self, fn, *args, on_error: str) -> dict[str, object]:
        assert on_error == "return"
        here = fn(*args)
        name = args[0] if fn is metadata.version else fn.__name__
        return {"tcp://a:1": here, "tcp://b:2": self.changed.get(name, here)}


@pytest.mark.parametrize(
    "text", ["tcp://localhost:8786", "tcp://10.0.0.3:1", "tls://node-7.site.org:65535", "tcp://[::1]:8786"]
)
def test_an_address_of_a_scheduler_is_taken_as_it_is(text: str) -> None:
    assert check_address(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "localhost:8786", "tcp://localhost", "tcp://:8786", "http://h:1", "tcp://h:0", "tcp://h:65536", "tcp://h:1/"],
)
def test_anything_else_is_refused(text: str, one_sentence) -> None:
    with pytest.raises(UserError) as error:
        check_address(text)
    one_sentence(error.value, f"'{text}'", "tcp://host:port")


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch, one_sentence) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError) as error, cluster("tcp://127.0.0.1:8786", tmp_path):
        pass
    one_sentence(error.value, "extra 'cluster'", "pip install 'hyst-interp[cluster]'")


def test_a_scheduler_that_does_not_answer_is_refused_and_the_directory_is_not_made(
    tmp_path: Path, monkeypatch, one_sentence
) -> None:
    monkeypatch.setattr(clusters, "CONNECT", 0.3)
    with pytest.raises(UserError) as error:
        reproduce(TINY, tmp_path / "run", cluster="tcp://127.0.0.1:1")
    one_sentence(error.value, "tcp://127.0.0.1:1", "dask scheduler")
    assert not (tmp_path / "run").exists()


def test_a_cluster_beside_own_workers_is_refused(tmp_path: Path, one_sentence) -> None:
    with pytest.raises(UserError) as error:
        reproduce(TINY, tmp_path / "run", workers=2, cluster="tcp://127.0.0.1:1")
    one_sentence(error.value, "workers", "cluster")
    assert not (tmp_path / "run").exists()


def test_workers_like_this_process_are_accepted(tmp_path: Path) -> None:
    check_workers(Answers(), "tcp://s:1")  # type: ignore[arg-type]
    check_directory(Answers(), tmp_path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"torch": "1.0.0+cpu"}, ("torch 1.0.0", f"torch {versions()['torch']}")),
        ({"hyst-interp": "99.1"}, ("hyst-interp 99.1", f"hyst-interp {versions()['hyst-interp']}")),
        ({"hyst-interp": metadata.PackageNotFoundError("hyst-interp")}, ("no hyst-interp",)),
        ({"python_version_tuple": ("3", "9", "1")}, ("python 3.9", f"python {versions()['python']}")),
    ],
)
def test_a_worker_with_other_versions_is_refused(changed: dict, words: tuple[str, ...], one_sentence) -> None:
    with pytest.raises(UserError) as error:
        check_workers(Answers(**changed), "tcp://s:1")  # type: ignore[arg-type]
    one_sentence(error.value, "'tcp://b:2'", *words)


def test_a_build_of_the_same_version_for_another_device_is_accepted() -> None:
    check_workers(Answers(torch=versions()["torch"] + "+other"), "tcp://s:1")  # type: ignore[arg-type]


@pytest.mark.parametrize("seen", [FileNotFoundError(2, "No such file"), "the same name on another disk"])
@pytest.mark.parametrize("below", [".", "not/yet/made"])
def test_a_worker_that_does_not_see_the_directory_is_refused(
    tmp_path: Path, seen: object, below: str, one_sentence
) -> None:
    """A directory that does not exist yet stands for the one that it will be made in."""
    with pytest.raises(UserError) as error:
        check_directory(Answers(read_text=seen), tmp_path / below)  # type: ignore[arg-type]
    one_sentence(error.value, "'tcp://b:2'", f"'{tmp_path}'", "--out")
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_cannot_write_there_is_refused(tmp_path: Path, one_sentence) -> None:
    with pytest.raises(UserError) as error:
        check_directory(Answers(access=False), tmp_path)  # type: ignore[arg-type]
    one_sentence(error.value, "'tcp://b:2'", "cannot write", f"'{tmp_path}'")


def test_a_cluster_without_workers_is_refused_and_so_is_a_worker_with_two_threads(
    local: Any, tmp_path: Path, one_sentence
) -> None:
    address = local.scheduler_address
    with pytest.raises(UserError) as error:
        check_workers(Answers(threads=2), address)  # type: ignore[arg-type]
    one_sentence(error.value, "'tcp://b:2'", "2 threads", "--nthreads 1")
    local.scale(0)
    deadline = time.monotonic() + 30
    while local.scheduler_info["workers"] and time.monotonic() < deadline:
        time.sleep(0.02)
    with pytest.raises(UserError) as error:
        reproduce(TINY, tmp_path / "run", cluster=address)
    one_sentence(error.value, "no workers", f"dask worker {address} --nthreads 1")
    local.scale(1)
    local.wait_for_workers(1, timeout=30)
    (worker,) = local.workers.values()
    worker.state.nthreads = local.scheduler.workers[worker.address].nthreads = 2
    with pytest.raises(UserError) as error:
        reproduce(TINY, tmp_path / "run", cluster=address)
    one_sentence(error.value, worker.address, "2 threads", "--nthreads 1")
    assert not (tmp_path / "run").exists()


def blocked(root: Path) -> str:
    """A stage that goes on until the test lets it."""
    assert GATE.wait(60)
    return str(root)


def fails(message: str) -> None:
    """A stage that the user can mend."""
    raise UserError(message)


def test_it_is_an_executor_that_merges_no_calls_and_leaves_the_cluster_and_its_loggers_as_they_were(
    local: Any, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    GATE.set()
    level = logging.getLogger("distributed.client").level
    with cluster(local.scheduler_address, Path("run")) as executor:
        assert not logging.getLogger("distributed.client").isEnabledFor(logging.CRITICAL)
        assert executor.submit(blocked, Path("run")).result(30) == str(tmp_path / "run")
        same = [executor.submit(uuid4) for _ in range(3)]
        assert len({future.result(30) for future in same}) == 3
        refused = executor.submit(fails, "change it.")
        assert wait([refused], 30, FIRST_COMPLETED) == ({refused}, set())
        assert str(refused.exception(30)) == "change it."
        assert isinstance(refused.exception(), UserError)
        unseen = executor.submit(blocked, Path("elsewhere"))
        with pytest.raises(UserError, match=r"does not see '.*elsewhere'"):
            unseen.result(30)
    assert logging.getLogger("distributed.client").level == level
    assert list((tmp_path / "run").iterdir()) == []
    with cluster(local.scheduler_address, tmp_path) as executor:
        assert executor.submit(abs, -1).result(30) == 1


def test_an_interrupt_cancels_what_is_pending(local: Any, tmp_path: Path) -> None:
    futures: list[Future[Any]] = []
    with pytest.raises(KeyboardInterrupt), cluster(local.scheduler_address, tmp_path) as executor:  # noqa: PT012
        futures += [executor.submit(blocked, tmp_path) for _ in range(3)]
        raise KeyboardInterrupt
    assert all(future.cancelled() for future in futures)
    GATE.set()
    with cluster(local.scheduler_address, tmp_path) as executor:
        assert executor.submit(abs, -1).result(30) == 1
    assert not local.scheduler.tasks


def test_a_connection_that_is_lost_is_one_sentence(local: Any, tmp_path: Path, one_sentence) -> None:
    with cluster(local.scheduler_address, tmp_path) as executor:
        futures = [executor.submit(blocked, tmp_path) for _ in range(2)]
        connection = executor._client.scheduler_comm.comm  # type: ignore[attr-defined]
        local.loop.add_callback(connection.abort)
        for future in futures:
            error = future.exception(30)
            one_sentence(error, local.scheduler_address, "was lost", "--resume")
            assert isinstance(error, UserError)
        GATE.set()


def test_a_cluster_whose_workers_do_not_come_back_is_one_sentence(local: Any, tmp_path: Path, one_sentence) -> None:
    with cluster(local.scheduler_address, tmp_path, patience=0.4) as executor:
        local.scale(0)
        deadline = time.monotonic() + 30
        while local.scheduler_info["workers"] and time.monotonic() < deadline:
            time.sleep(0.02)
        one_sentence(executor.submit(blocked, tmp_path).exception(30), "no worker", "dask worker", "--resume")
        GATE.set()


def kills(root: Path) -> None:
    """Stands for a stage whose worker was killed four times."""
    raise KilledWorker("anchor", SimpleNamespace(address="tcp://10.0.0.7:4321"), 3)  # type: ignore[arg-type]


def test_a_stage_that_kills_its_workers_is_one_sentence(local: Any, tmp_path: Path, one_sentence) -> None:
    with cluster(local.scheduler_address, tmp_path) as executor:
        error = executor.submit(kills, tmp_path).exception(30)
    one_sentence(error, "4 workers were killed", "tcp://10.0.0.7:4321", "--resume")
    assert isinstance(error, UserError)


class Unreadable:
    """What a stage gives, and this process cannot take from the cluster."""

    def __reduce__(self) -> tuple[Any, ...]:
        return fails, ("what came back cannot be read.",)


def test_an_outcome_that_cannot_be_fetched_ends_its_future(local: Any, tmp_path: Path) -> None:
    """A study would wait for ever otherwise: workers and scheduler are well, and the task is done there."""
    with cluster(local.scheduler_address, tmp_path) as executor:
        assert "cannot be read" in str(executor.submit(Unreadable).exception(30))


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[list[subprocess.Popen]]:
    """A scheduler and two workers as a user starts them, on ports of the system's choice; ended whatever happens."""
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    where = ["--scheduler-file", str(file)]
    worker = [*dask, "worker", *where, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    worker += ["--preload", "hyst_interp.study.worker", "--death-timeout", "120", "--local-directory", str(tmp_path)]
    started: list[subprocess.Popen] = []
    quiet: Any = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "env": os.environ | {"OMP_NUM_THREADS": "1"},
    }
    try:
        scheduler = [*dask, "scheduler", *where, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        started.append(subprocess.Popen(scheduler, **quiet))
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_text().endswith("}")):
            assert started[0].poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        started += [subprocess.Popen(worker, **quiet) for _ in range(2)]
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.process
def test_one_of_two_workers_killed_half_way_changes_no_byte(
    tiny_run: Path, processes: list[subprocess.Popen], tmp_path: Path, capfd
) -> None:
    from distributed import Client

    address = json.loads((tmp_path / "scheduler.json").read_text())["address"]
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
    capfd.readouterr()
    events: list[Event] = []
    root = tmp_path / "run"

    def workers() -> list[int]:
        return [json.loads(line)["worker"] for line in (root / "log.jsonl").read_text().splitlines()]

    def listen(event: Event) -> None:
        events.append(event)
        if event.finished == 6:
            os.kill(workers()[-1], signal.SIGKILL)  # one that has work, however the scheduler spread it

    reproduce(TINY, root, listener=listen, cluster=address)
    at_work = workers()
    victim, survivor = processes[1:] if at_work[5] == processes[1].pid else processes[:0:-1]
    assert at_work[5] == victim.pid
    assert victim.wait(10) == -signal.SIGKILL
    assert [process.poll() for process in (processes[0], survivor)] == [None, None]
    assert [event.kind for event in events] == ["done"] * len(plan(TINY))
    assert set(at_work) == {victim.pid, survivor.pid}
    assert set(at_work[8:]) == {survivor.pid}
    assert not list(root.rglob(".cluster*"))
    assert science(root) == science(tiny_run)
    assert capfd.readouterr() == ("", "")
