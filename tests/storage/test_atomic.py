"""Whole or absent: whatever happens inside, a name never holds half a result."""

from pathlib import Path

import pytest

from hyst_interp.storage import checkpoint
from hyst_interp.storage.atomic import clear_parts, new_directory, new_file
from hyst_interp.storage.checkpoint import load, save


def everything(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_a_directory_takes_its_name_only_when_whole(tmp_path):
    target = tmp_path / "a" / "b"
    with new_directory(target) as part:
        assert part.parent == target.parent
        (part / "x").write_text("1")
        assert not target.exists()
    assert everything(tmp_path) == {"a/b/x": b"1"}


def test_an_existing_directory_is_replaced_whole(tmp_path):
    target = tmp_path / "d"
    for name in ("old", "new"):
        with new_directory(target) as part:
            (part / name).write_text(name)
            (part / "both").write_text(name)
            if name == "new":
                assert everything(target) == {"old": b"old", "both": b"old"}
    assert everything(tmp_path) == {"d/new": b"new", "d/both": b"new"}


def break_off(target: Path, error: type[BaseException]) -> None:
    """Half a directory and half a file, and then the fault."""
    with new_directory(target / "d") as part:
        (part / "deep").mkdir()
        (part / "deep" / "y").write_text("new")
        with new_file(target / "f.txt") as file:
            file.write_text("new")
            raise error


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_exception_inside_leaves_nothing(tmp_path, error):
    with pytest.raises(error):
        break_off(tmp_path, error)
    assert list(tmp_path.iterdir()) == []


def test_an_exception_inside_leaves_what_was_there(tmp_path):
    with new_directory(tmp_path / "d") as part:
        (part / "x").write_text("old")
    (tmp_path / "f.txt").write_text("old")
    with pytest.raises(RuntimeError):
        break_off(tmp_path, RuntimeError)
    assert everything(tmp_path) == {"d/x": b"old", "f.txt": b"old"}


@pytest.mark.parametrize("name", ["f.nc", "f", "f.tar.gz", ".hidden"])
def test_a_file_takes_its_name_only_when_whole(tmp_path, name):
    """The part keeps the suffix, because some writers look at it."""
    target = tmp_path / "deep" / name
    for content in ("1", "2"):
        with new_file(target) as part:
            assert not target.suffix or part.suffix == target.suffix
            part.write_text(content)
            assert not target.exists() or target.read_text() == "1"
    assert everything(tmp_path) == {f"deep/{name}": b"2"}


def test_what_a_killed_process_left_is_cleared_and_nothing_else(tmp_path):
    with new_directory(tmp_path / "seed-0" / "anchor") as part:
        (part / "x").write_text("1")
        directory = part.name
    with new_file(tmp_path / "results" / "gap.nc") as part:
        part.write_text("1")
        file = part.name
    kept = everything(tmp_path)
    (tmp_path / "seed-0" / directory).mkdir()
    (tmp_path / "seed-0" / directory / "half").write_text("0")
    (tmp_path / "results" / file).write_text("0")
    assert len(everything(tmp_path)) == len(kept) + 2
    clear_parts(tmp_path)
    assert everything(tmp_path) == kept
    assert not (tmp_path / "seed-0" / directory).exists()


def test_a_save_that_breaks_leaves_the_old_checkpoint(small_branches, tmp_path, monkeypatch):
    """The fault comes last, when both tensor files are written."""
    save(small_branches["below"], tmp_path / "here")
    before = everything(tmp_path)

    def broken(manifest):
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint, "to_text", broken)
    for name in ("here", "elsewhere"):
        with pytest.raises(OSError, match="disk full"):
            save(small_branches["above"], tmp_path / name)
    assert everything(tmp_path) == before
    assert load(tmp_path / "here").state().hash() == small_branches["below"].hash()
