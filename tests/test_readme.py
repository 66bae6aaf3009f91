"""The README is true: its commands and snippets run, its make targets exist, every command of the tool appears."""

import logging
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster

from hyst_interp.cli import main
from hyst_interp.cli.app import commands

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, flags=re.DOTALL)
LINES = [line for kind, block in BLOCKS if kind == "console" for line in block.splitlines()]
CALLS = [line.removeprefix(".venv/bin/") for line in LINES if "hyst-interp " in line]
SNIPPETS = [block for kind, block in BLOCKS if kind == "python"]


@pytest.fixture
def beside_runs(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory in which `runs/smoke` is a copy of the session's tiny run."""
    shutil.copytree(tiny_run, tmp_path / "runs" / "smoke")
    (tmp_path / "checkpoints").symlink_to(ROOT / "checkpoints")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def any_cluster() -> Iterator[str]:
    """The address of a scheduler with one worker, in this process."""
    settings: Any = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=1, threads_per_worker=1, silence_logs=logging.CRITICAL, **settings) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize("call", CALLS)
def test_every_command_of_the_readme_runs(call: str, beside_runs: Path, capsys: pytest.CaptureFixture) -> None:
    words = shlex.split(call.replace("--preset smoke", "--preset tiny"))[1:]
    with any_cluster() if "--cluster" in words else nullcontext() as address:
        if address is not None:
            words[words.index("--cluster") + 1] = address
        assert main(words) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


def test_the_readme_starts_its_cluster_where_it_looks_for_it() -> None:
    places = {word for line in LINES for word in line.split() if word.startswith("tcp://")}
    assert places == {"tcp://127.0.0.1:8786"}
    assert "dask scheduler --host 127.0.0.1 --port 8786 --no-dashboard" in LINES


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A SLURM that takes every job and runs none; the file in which it keeps what was submitted."""
    programs, kept = tmp_path / "slurm", tmp_path / "jobs"
    programs.mkdir()
    for name, line in (("sbatch", f'cat "$1" >> "{kept}"; echo Submitted batch job 1'), ("scancel", "true")):
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return kept


def test_the_snippets_of_the_readme_run_one_after_the_other(beside_runs: Path, slurm: Path) -> None:
    assert len(SNIPPETS) >= 3
    names: dict[str, Any] = {}
    try:
        for snippet in SNIPPETS:
            exec(compile(snippet, "README.md", "exec"), names)
        deadline = time.monotonic() + 30
        while not slurm.exists() or slurm.read_text().count("--nthreads 1") < 4:
            assert time.monotonic() < deadline, "the cluster of the README submits no jobs of one thread a worker"
            time.sleep(0.05)
    finally:
        if "cluster" in names:
            names["cluster"].close()


def test_the_readme_names_every_command() -> None:
    used = {shlex.split(call)[1] for call in CALLS}
    assert used == {command.__name__ for command, _, _ in commands()}


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b", TEXT)) - {"install"}
    assert {"setup", "test", "smoke", "reproduce"} <= named
    assert named <= targets


def test_every_file_that_the_readme_links_to_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        if "://" not in target:
            assert (ROOT / target).exists(), target
