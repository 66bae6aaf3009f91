"""The repository itself: a clone holds the committed bytes whatever git is told, and its papers name one version."""

import datetime
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.manifest import MANIFEST, read_manifest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


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


def test_the_citation_is_of_this_version_and_names_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["message"]
    assert citation["abstract"]
    assert citation["authors"] == [{"name": "The hyst-interp authors"}]
    assert citation["title"] == PROJECT["name"]
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    (paper,) = citation["references"]
    assert paper["title"] == "Testing History Dependence Between In-Context and In-Weights Learning"
    assert paper["authors"] == [{"family-names": "Zuo", "given-names": "Yuchen"}]
    assert paper["date-published"] == datetime.date(2026, 8, 6)
    assert paper["license"] == "CC-BY-4.0"


def test_the_changelog_begins_with_what_is_not_released_and_has_this_version() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]( - \d{4}-\d\d-\d\d)?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == ("Unreleased", "")
    assert headings[1][0] == PROJECT["version"]
    assert all(date for _, date in headings[1:])
