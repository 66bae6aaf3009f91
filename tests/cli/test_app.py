"""The application: help, version, and what becomes of interruptions, faults, closed pipes, and stray output."""

import os
import subprocess
import sys

import pytest

from hyst_interp.cli.app import _aside, commands
from hyst_interp.cli.output import Answer

COMMANDS = [command for command, _, _ in commands()]
NAMES = [command.__name__ for command in COMMANDS]


def test_the_commands_are_those_of_the_contract():
    assert NAMES == [
        "relax",
        "attenuate",
        "patch",
        "compare",
        "transplant",
        "weights",
        "shapley",
        "information",
        "cross",
        "edges",
        "explore",
        "reproduce",
        "report",
        "info",
        "trials",
    ]


@pytest.mark.parametrize("line", [[], ["--help"]])
def test_help_lists_every_command(line, call):
    found = call(*line)
    assert found.status == 0
    assert found.err == ""
    assert all(f"  {name} " in found.out for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command_has_an_example_and_explains_everything(name, call):
    found = call(name, "--help")
    assert found.status == 0
    assert "Example" in found.out
    assert f"hyst-interp {name} " in found.out.split("Example")[1]
    assert all(len(line) <= 80 for line in found.out.splitlines())
    assert "--format" in found.out


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_every_argument_is_explained(command):
    import inspect

    for parameter in inspect.signature(command).parameters.values():
        (info,) = parameter.annotation.__metadata__
        assert info.help.endswith(".")


def test_version(call):
    import hyst_interp

    assert call("--version").out == f"hyst-interp {hyst_interp.__version__}\n"


def test_an_interruption_is_130(mini, call, monkeypatch):
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hyst_interp.storage.manifest.read_manifest", interrupt)
    found = call("info", mini / "orphans" / "below")
    assert (found.status, found.out) == (130, "")
    assert "Traceback" not in found.err


def _broken(*args: object) -> None:
    raise RuntimeError("a wheel\ncame off")


def test_a_fault_of_ours_is_one_line_and_says_how_to_see_more(mini, call, monkeypatch):
    monkeypatch.delenv("HYST_TRACEBACK", raising=False)
    monkeypatch.setattr("hyst_interp.storage.manifest.read_manifest", _broken)
    found = call("info", mini / "orphans" / "below")
    assert (found.status, found.out) == (1, "")
    assert found.err.count("\n") == 1
    assert "a wheel came off" in found.err
    assert "HYST_TRACEBACK" in found.err


def test_the_traceback_is_shown_on_request(mini, call, monkeypatch):
    monkeypatch.setenv("HYST_TRACEBACK", "1")
    monkeypatch.setattr("hyst_interp.storage.manifest.read_manifest", _broken)
    found = call("info", mini / "orphans" / "below")
    assert found.status == 1
    assert "Traceback" in found.err


def test_a_full_disk_is_for_the_user_to_mend(mini, tmp_path, call, monkeypatch, one_sentence):
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "t.npz"))

    monkeypatch.setattr("hyst_interp.storage.trials_file.write_trials", full)
    found = call("trials", mini / "orphans" / "below", "--n", 3, "--out", tmp_path / "t.npz")
    assert (found.status, found.out) == (2, "")
    one_sentence(found.err.rstrip("\n"), "No space left")


def test_what_a_library_prints_goes_to_standard_error(capsys):
    answer = Answer({}, [], lambda colour: "")

    def chatty() -> Answer:
        print("chatter")
        return answer

    assert _aside(chatty)() is answer
    found = capsys.readouterr()
    assert (found.out, found.err) == ("", "chatter\n")


def test_a_reader_that_has_gone_ends_it_quietly(mini):
    reading, writing = os.pipe()
    os.close(reading)
    line = [sys.executable, "-m", "hyst_interp", "info", str(mini / "orphans" / "below")]
    done = subprocess.run(line, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
