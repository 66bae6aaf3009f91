"""Real processes: a pool gives the bytes that this process gives, and a kill in the middle changes nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from byte_hashes import science

from hyst_interp.config.study import load_study
from hyst_interp.study.plan import plan

pytestmark = pytest.mark.process
COMMAND = [sys.executable, "-m", "hyst_interp", "reproduce", "--preset", "tiny", "--workers", "2"]

FOREGROUND = [
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
]
"""In front of a command: it takes interrupts, even if this process is a shell's background job, which ignores them.

An interrupt that is ignored on start stays ignored, as with every other program; the command line does not change that.
"""


def finished(root: Path) -> list[str]:
    """Titles of the stages that the log calls done, in order."""
    log = root / "log.jsonl"
    entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [entry["stage"] for entry in entries if entry["event"] == "done"]


def test_killed_and_resumed_in_other_processes_gives_the_same_bytes(tiny_run: Path, tmp_path: Path) -> None:
    root = tmp_path / "killed"
    command = [*COMMAND, "--out", str(root), "--format", "json"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 300
    while len(finished(root)) < 5:
        assert first.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before = finished(root)
    assert len(before) < len(plan(load_study("tiny")))
    second = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["rows"]
    again = finished(root)[len(before) :]
    assert not set(before) & set(again)
    assert science(root) == science(tiny_run)


def test_an_interrupt_ends_the_workers_and_says_130(tmp_path: Path) -> None:
    root = tmp_path / "interrupted"
    command = [*FOREGROUND, *COMMAND, "--out", str(root)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while not finished(root):
        assert process.poll() is None, "the run ended before it could be interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
