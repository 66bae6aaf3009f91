"""The repository itself: a clone holds the committed bytes whatever git is told."""

import os
import subprocess
from pathlib import Path

import pytest

from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.manifest import MANIFEST, read_manifest

ROOT = Path(__file__).parent.parent


def git(directory: Path, *words: str, given: str | None = None) -> str:
    """What git says in a directory, whatever repository the environment points at."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(directory), *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the last commit by a git that ends lines with CRLF wherever it may."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    clone = tmp_path_factory.mktemp("clone") / "converted"
    settings = ["-c", "core.autocrlf=true", "-c", "core.eol=crlf"]
    git(ROOT, "clone", "--quiet", "--depth", "1", *settings, ROOT.as_uri(), str(clone))
    return clone


def test_a_clone_with_converted_line_ends_holds_the_committed_bytes(converted: Path) -> None:
    committed = {}
    for line in git(converted, "ls-tree", "-r", "-z", "HEAD").split("\0"):
        if line:
            description, path = line.split("\t", 1)
            committed[path] = description.split()[2]
    assert "checkpoints/seed-0/anchor/checkpoint.json" in committed
    hashes = git(converted, "hash-object", "--no-filters", "--stdin-paths", given="\n".join(committed) + "\n").split()
    changed = [path for path, digest in zip(committed, hashes, strict=True) if committed[path] != digest]
    assert changed == []


def test_checkpoints_of_such_a_clone_are_those_of_this_one(converted: Path) -> None:
    names = sorted(path.parent.relative_to(converted) for path in (converted / "checkpoints").rglob(MANIFEST))
    assert names
    for name in names:
        assert read_manifest(converted / name)[1] == read_manifest(ROOT / name)[1]
    assert load(converted / "checkpoints/seed-0/anchor").manifest.weights
