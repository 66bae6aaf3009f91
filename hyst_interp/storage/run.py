"""A run's directory: where everything stands, who is working in it, and which stages are whole.

Paths have the names that people read (`seed-0/order-1/below/hold-025`). A stage is done when its directory holds a
`stage.json` whose hash is the one that the plan asks for; directories are renamed into place, so one that exists is
whole.
"""

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from hyst_interp.config.frozen import parse
from hyst_interp.config.study import StudyConfig
from hyst_interp.errors import UserError
from hyst_interp.storage.atomic import new_file

STUDY = "study.toml"
STAGE = "stage.json"
LOG = "log.jsonl"


@dataclass(frozen=True)
class Run:
    """Paths of a run on disk; creates nothing by itself."""

    root: Path

    def seed(self, seed: int) -> Path:
        """Directory of a seed."""
        return self.root / f"seed-{seed}"

    def anchor(self, seed: int) -> Path:
        """The anchor's checkpoint."""
        return self.seed(seed) / "anchor"

    def order(self, seed: int, order: int) -> Path:
        """Directory of a data order."""
        return self.seed(seed) / f"order-{order}"

    def branch(self, seed: int, order: int, branch: str) -> Path:
        """Directory of a branch."""
        return self.order(seed, order) / branch

    def hold(self, seed: int, order: int, branch: str, hold: int) -> Path:
        """A branch's checkpoint after `hold` updates at p0 beyond arrival."""
        return self.branch(seed, order, branch) / f"hold-{hold:03d}"

    def measured(self, seed: int, order: int, kind: str) -> Path:
        """Directory of what a measuring stage found on one order."""
        return self.order(seed, order) / "results" / kind

    @property
    def results(self) -> Path:
        """Directory of the merged results."""
        return self.root / "results"

    @property
    def figures(self) -> Path:
        """Directory of the figures as pages."""
        return self.root / "figures"

    @property
    def report(self) -> Path:
        """The report."""
        return self.root / "report.html"

    def study(self) -> StudyConfig:
        """The study that the run belongs to; UserError where the directory is no run."""
        path = self.root / STUDY
        if not path.is_file():
            raise UserError(
                f"'{self.root}' is not a run: it has no {STUDY}; name a directory that 'hyst-interp reproduce' wrote."
            )
        try:
            data = tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UserError(f"'{path}' cannot be read ({error}); start the run again.") from None
        return parse(StudyConfig, data, f"'{path}'")


def stage_hash(directory: Path) -> str | None:
    """The hash that a stage's directory records, or None where there is no whole stage."""
    try:
        return json.loads((directory / STAGE).read_text("utf-8"))["hash"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_stage(directory: Path, kind: str, digest: str) -> None:
    """Record in a directory being written which stage it is."""
    content = {"schema": "hyst-interp/stage/1", "stage": kind, "hash": digest}
    (directory / STAGE).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")


def open_run(root: Path, study: StudyConfig, resume: bool) -> Run:
    """A directory to run `study` in; UserError where it is taken, before anything is written.

    An existing directory must be empty, or (with `resume`) hold the same study.
    """
    run = Run(root)
    if root.exists() and not root.is_dir():
        raise UserError(f"output '{root}' is a file; name a directory with --out.")
    if root.is_dir() and any(root.iterdir()):
        if not resume:
            raise UserError(f"output directory '{root}' is not empty; pass --resume to continue it, or another --out.")
        if run.study().digest() != study.digest():
            raise UserError(
                f"output directory '{root}' holds another study ({_difference(run.study(), study)});"
                " pass another --out, or remove it."
            )
    root.mkdir(parents=True, exist_ok=True)
    if not (root / STUDY).is_file():
        with new_file(root / STUDY) as part:
            part.write_text(study_text(study), "utf-8")
    return run


def _difference(old: StudyConfig, new: StudyConfig) -> str:
    before, after = old.to_json(), new.to_json()
    field = next(name for name in before if before[name] != after[name])
    return f"it differs in '{field}'"


@contextmanager
def locked(run: Run) -> Iterator[None]:
    """Sole use of a run's directory; UserError where another process has it."""
    lock = FileLock(run.root / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(f"another process is working in '{run.root}'; wait for it, or pass another --out.") from None
    try:
        yield
    finally:
        lock.release()


def study_text(study: StudyConfig) -> str:
    """A study as TOML; equal studies give equal bytes, and reading it back gives the same study."""
    lines = ["# The study that this directory holds, every field."]
    _table(study.to_json(), (), lines)
    return "\n".join(lines) + "\n"


def _table(content: dict[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    plain = {key: value for key, value in content.items() if not isinstance(value, dict) and value is not None}
    if path:
        lines.extend(["", f"[{'.'.join(path)}]"])
    lines.extend(f"{key} = {_toml(value)}" for key, value in plain.items())
    for key, value in content.items():
        if isinstance(value, dict):
            _table(value, (*path, key), lines)


def _toml(value: Any) -> str:
    """A plain value as TOML, which JSON is but for one character: TOML wants DEL escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
