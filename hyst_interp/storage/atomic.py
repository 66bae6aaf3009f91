"""Written beside and renamed: a reader, or a process killed half-way, never leaves or sees half a result.

Two processes may write the same name at once, even on two hosts of one file system: a scheduler gives a stage away
again when it believes a worker dead that is alive. Each writes a part of its own, every part is renamed whole or not at
all, and whoever comes second with the same bytes leaves what the first one wrote untouched.
"""

import errno
import filecmp
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

TAKEN = (errno.ENOTEMPTY, errno.EEXIST)
"""What a rename to a directory that is there says."""
OURS = ".unfinished"
"""A file in every part of a directory: where it is gone, the part was cleared while it was being filled."""


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid4().hex}.part")


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A directory to fill; it takes the name `path` when the block ends well and vanishes when it does not.

    A directory that already has that name is replaced, unless it holds the same bytes: then it stays as it is, so that
    nobody who reads it misses a file.

    Raises:
        FileNotFoundError: another process cleared the part meanwhile; nothing of it takes the name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _beside(path)
    part.mkdir()
    (part / OURS).touch()
    try:
        yield part
        if not (path / OURS).exists():  # `path` may be a part itself, and stays one
            (part / OURS).unlink()  # fails for a part that was cleared, and half made again by a directory inside it
        _take_name(part, path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _take_name(part: Path, path: Path) -> None:
    """Rename a whole part to `path`; another process may take, or free, that name at any moment."""
    while not (path.is_dir() and _same_bytes(part, path)):
        old = _moved_aside(path)
        try:
            part.rename(path)
            return
        except BaseException as error:
            if not (isinstance(error, OSError) and error.errno in TAKEN):
                if old is not None:
                    old.rename(path)
                    old = None
                raise
            # Another process was quicker: look at what it wrote.
        finally:
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)


def _moved_aside(path: Path) -> Path | None:
    """The new place of a directory that was `path`; None where there is none."""
    if not path.is_dir():
        return None
    old = _beside(path)
    try:
        return path.rename(old)
    except FileNotFoundError:
        return None


def _same_bytes(one: Path, other: Path) -> bool:
    """Whether two directories hold the same files with the same bytes; False where one is taken away meanwhile."""
    try:
        files = [sorted(p.relative_to(root) for p in root.rglob("*") if not p.is_dir()) for root in (one, other)]
        return files[0] == files[1] and all(filecmp.cmp(one / file, other / file, shallow=False) for file in files[0])
    except OSError:
        return False


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
    """Remove what killed processes left beside their targets, anywhere under `directory`.

    A part whose process is alive after all is taken away whole, by its name: it cannot become half a result.
    """
    for part in list(directory.rglob(".*.part*")):
        if part.is_dir():
            shutil.rmtree(_moved_aside(part) or part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
