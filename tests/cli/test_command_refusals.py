"""What the user can mend: exit 2, one sentence, nothing on standard output, nothing written, nothing slow imported."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import REFUSALS, command_line

COLD = """
import json, sys
from hyst_interp.cli import main
print(json.dumps([main(line) for line in json.load(sys.stdin)]))
slow = ("torch", "xarray", "scipy.stats", "transformer_lens", "rich")
print(json.dumps([name for name in slow if name in sys.modules]))
"""


@pytest.fixture(autouse=True)
def _no_browser(monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chrome")


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_are_one_sentence_and_leave_nothing(name, mini, tmp_path, call, one_sentence):
    text, word = REFUSALS[name]
    before = sorted(mini.rglob("*"))
    found = call(*command_line(text, mini, tmp_path))
    assert found.status == 2
    assert found.out == ""
    assert found.err.count("\n") == 1
    one_sentence(found.err.rstrip("\n"), word)
    assert "Usage" not in found.err
    assert "Traceback" not in found.err
    assert list(tmp_path.iterdir()) == []
    assert sorted(mini.rglob("*")) == before


def test_refusals_import_nothing_slow(mini, tmp_path):
    lines = [command_line(text, mini, tmp_path) for text, _ in REFUSALS.values()]
    done = subprocess.run(
        [sys.executable, "-c", COLD], input=json.dumps(lines), capture_output=True, text=True, check=True
    )
    statuses, imported = (json.loads(line) for line in done.stdout.splitlines())
    assert statuses == [2] * len(REFUSALS)
    assert imported == []
    assert len(done.stderr.splitlines()) == len(REFUSALS)


@pytest.mark.parametrize("module", ["hyst_interp", "hyst_interp.cli"])
def test_importing_is_cheap(module):
    slow = ("torch", "xarray", "scipy", "scipy.stats", "transformer_lens", "numpy", "pydantic", "rich")
    code = f"import sys, {module}; print([name for name in {slow!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unwritable_directories_are_refused(mini, tmp_path, call, monkeypatch, one_sentence):
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    below = mini / "seed-100" / "order-0" / "below"
    for line in (
        ["trials", below, "--n", 3, "--out", tmp_path / "t.npz"],
        ["patch", below, "--site", "result", "--figure", tmp_path / "f.html"],
        ["reproduce", "--preset", "tiny", "--out", tmp_path / "run"],
    ):
        found = call(*line)
        assert (found.status, found.out) == (2, "")
        one_sentence(found.err.rstrip("\n"), "cannot be written")
    assert list(tmp_path.iterdir()) == []


def test_a_study_that_changed_is_not_resumed(tmp_path, call, one_sentence):
    from hyst_interp.config.study import load_study
    from hyst_interp.storage.run import open_run

    open_run(tmp_path / "run", load_study("tiny"), resume=False)
    found = call("reproduce", "--preset", "tiny", "--seeds", "0-3", "--resume", "--out", tmp_path / "run")
    assert found.status == 2
    one_sentence(found.err.rstrip("\n"), "seeds")
