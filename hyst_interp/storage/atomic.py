"""Written beside and renamed: a reader, or a process killed half-way, never leaves or sees half a result."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A directory to fill; it takes the name `path` when the block ends well and vanishes when it does not.

    A directory that already has that name is replaced.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _beside(path)
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        yield part
        if path.exists():
            shutil.rmtree(path)
        part.rename(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A file to write; it takes the name `path` when the block ends well and vanishes when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _beside(path).with_suffix(f".part{path.suffix}")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def clear_parts(directory: Path) -> None:
    """Remove what killed processes left beside their targets, anywhere under `directory`."""
    for part in directory.rglob(".*.part*"):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
