"""Whole or absent: whatever happens inside, a name never holds half a result."""

from concurrent.futures import ThreadPoolExecutor
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


def test_two_writers_at_once_have_parts_of_their_own_and_the_second_leaves_equal_bytes_untouched(tmp_path):
    """As on two hosts whose process numbers are equal: nothing in a part's name is a process's."""
    target = tmp_path / "d"
    with new_directory(target) as slow:
        (slow / "x").write_text("1")
        with new_directory(target) as quick:
            assert slow != quick
            (quick / "x").write_text("1")
        first = target.stat().st_ino
    assert target.stat().st_ino == first
    assert everything(tmp_path) == {"d/x": b"1"}
    with new_file(tmp_path / "f.txt") as slow, new_file(tmp_path / "f.txt") as quick:
        assert slow != quick
        slow.write_text("1")
        quick.write_text("1")
    assert everything(tmp_path) == {"d/x": b"1", "f.txt": b"1"}


@pytest.mark.parametrize("late", [{"x": "2"}, {"x": "1", "y": "1"}, {"z/x": "1"}, {}])
def test_a_second_writer_with_other_bytes_replaces_the_first_whole(tmp_path, late):
    with new_directory(tmp_path / "d") as slow:
        for name, text in late.items():
            (slow / name).parent.mkdir(exist_ok=True)
            (slow / name).write_text(text)
        with new_directory(tmp_path / "d") as quick:
            (quick / "x").write_text("1")
    assert everything(tmp_path) == {f"d/{name}": text.encode() for name, text in late.items()}
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_name_that_is_taken_between_look_and_rename_is_no_error(tmp_path, monkeypatch):
    """The other process renames just before we do: our first rename meets a directory that was not there."""
    rename, taken = Path.rename, []

    def race(self, target):
        if target == tmp_path / "d" and not taken:
            taken.append(self)
            target.mkdir()
            (target / "x").write_text("1")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", race)
    with new_directory(tmp_path / "d") as part:
        (part / "x").write_text("1")
    assert taken
    assert everything(tmp_path) == {"d/x": b"1"}
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_many_writers_at_once_leave_one_whole_directory(tmp_path):
    """Two contents, sixteen threads: a reader that looks all the while never sees half of either."""
    wanted = [{f"{n}": str(content) * 1000 for n in range(5)} for content in range(2)]

    def write(index: int) -> None:
        for _ in range(10):
            with new_directory(tmp_path / "d") as part:
                for name, text in wanted[index % 2].items():
                    (part / name).write_text(text)

    with ThreadPoolExecutor(16) as pool:
        for writer in [pool.submit(write, index) for index in range(16)]:
            writer.result()
    found = {path.name: path.read_text() for path in (tmp_path / "d").iterdir()}
    assert found in wanted
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_rename_that_fails_for_good_gives_back_what_was_there(tmp_path, monkeypatch):
    with new_directory(tmp_path / "d") as part:
        (part / "x").write_text("old")
    rename = Path.rename

    def full(self, target):
        if target == tmp_path / "d" and (self / "y").exists():
            raise OSError("disk full")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="disk full"), new_directory(tmp_path / "d") as part:
        (part / "y").write_text("new")
    assert everything(tmp_path) == {"d/x": b"old"}
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_file_in_the_way_of_a_directory_is_an_error_and_stays(tmp_path):
    (tmp_path / "d").write_text("mine")
    with pytest.raises(NotADirectoryError), new_directory(tmp_path / "d") as part:
        (part / "x").write_text("1")
    assert everything(tmp_path) == {"d": b"mine"}


def fill_a_cleared_part(root: Path) -> None:
    """Three checkpoints in one stage; a run that is resumed clears its part after the first."""
    with new_directory(root / "branch") as part:
        for hold in range(3):
            with new_directory(part / f"hold-{hold}") as inner:
                (inner / "w").write_text("1")
            if hold == 0:
                clear_parts(root)
        (part / "stage.json").write_text("whole")


def test_a_living_process_whose_part_was_cleared_never_makes_half_a_directory(tmp_path):
    """What comes after the clearing makes the part's directory again, without what stood in it."""
    with pytest.raises(FileNotFoundError):
        fill_a_cleared_part(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_part_that_is_itself_replaced_whole_stays_a_part(tmp_path):
    """As a checkpoint that is saved into a stage's directory, not below it."""
    with new_directory(tmp_path / "stage") as part:
        with new_directory(part) as inner:
            (inner / "weights").write_text("1")
        (part / "stage.json").write_text("whole")
    assert everything(tmp_path) == {"stage/weights": b"1", "stage/stage.json": b"whole"}
    assert [path.name for path in tmp_path.iterdir()] == ["stage"]
