"""A run's directory: its paths, who may use it, and which stages are whole."""

from pathlib import Path

import pytest

from hyst_interp.config import StudyConfig
from hyst_interp.errors import UserError
from hyst_interp.storage.run import STUDY, Run, locked, open_run, stage_hash, study_text, write_stage

STUDY_A = StudyConfig(name="a", seeds=(0, 2))
STUDY_B = STUDY_A.replace(p0=0.45)


def listing(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*"))


def test_paths_have_the_names_of_the_design(tmp_path):
    run = Run(tmp_path / "runs" / "paper")

    def name(path: Path) -> str:
        return str(path.relative_to(run.root))

    assert name(run.anchor(0)) == "seed-0/anchor"
    assert name(run.branch(0, 1, "below")) == "seed-0/order-1/below"
    assert [name(run.hold(3, 0, "above", hold)) for hold in (0, 25, 100)] == [
        f"seed-3/order-0/above/{hold}" for hold in ("hold-000", "hold-025", "hold-100")
    ]
    assert name(run.measured(0, 1, "patching")) == "seed-0/order-1/results/patching"
    assert [name(p) for p in (run.results, run.figures, run.report)] == ["results", "figures", "report.html"]
    assert not run.root.exists()


def test_a_new_run_says_how_it_was_made(tmp_path):
    run = open_run(tmp_path / "deep" / "run", STUDY_A, resume=False)
    assert listing(run.root) == [STUDY]
    assert (run.root / STUDY).read_text("utf-8") == study_text(STUDY_A)
    assert run.study() == STUDY_A
    (tmp_path / "empty").mkdir()
    assert open_run(tmp_path / "empty", STUDY_A, resume=False).study() == STUDY_A


def test_a_taken_directory_is_refused_without_resume(tmp_path, one_sentence):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError) as error:
        open_run(tmp_path, STUDY_A, resume=False)
    one_sentence(error.value, str(tmp_path), "not empty", "--resume", "--out")
    assert listing(tmp_path) == ["notes.txt"]


def test_a_run_is_resumed_by_its_own_study_alone(tmp_path, one_sentence):
    open_run(tmp_path, STUDY_A, resume=False)
    before = (tmp_path / STUDY).read_bytes()
    with pytest.raises(UserError):
        open_run(tmp_path, STUDY_A, resume=False)
    assert open_run(tmp_path, STUDY_A, resume=True).study() == STUDY_A
    for other, field in ((STUDY_B, "p0"), (STUDY_A.replace(seeds=(0,)), "seeds"), (STUDY_A.replace(name="b"), "name")):
        with pytest.raises(UserError) as error:
            open_run(tmp_path, other, resume=True)
        one_sentence(error.value, str(tmp_path), "another study", f"'{field}'", "--out")
    assert (tmp_path / STUDY).read_bytes() == before


def test_resume_of_what_is_no_run_is_refused(tmp_path, one_sentence):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError) as error:
        open_run(tmp_path, STUDY_A, resume=True)
    one_sentence(error.value, str(tmp_path), "is not a run", STUDY)
    with pytest.raises(UserError) as error:
        open_run(tmp_path / "notes.txt", STUDY_A, resume=True)
    one_sentence(error.value, "notes.txt", "is a file", "--out")
    assert listing(tmp_path) == ["notes.txt"]
    assert open_run(tmp_path / "new", STUDY_A, resume=True).study() == STUDY_A


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name = [", ("cannot be read",)),
        (b"\xff", ("cannot be read",)),
        (b"name = 'a'\nx = 1\n", ("unknown field 'x'",)),
    ],
)
def test_an_altered_study_is_refused(tmp_path, content, words, one_sentence):
    open_run(tmp_path, STUDY_A, resume=False)
    (tmp_path / STUDY).write_bytes(content)
    with pytest.raises(UserError) as error:
        open_run(tmp_path, STUDY_A, resume=True)
    one_sentence(error.value, STUDY, *words)


def test_a_run_has_one_user_at_a_time(tmp_path, one_sentence):
    run = open_run(tmp_path / "run", STUDY_A, resume=False)
    other = open_run(tmp_path / "other", STUDY_A, resume=False)
    with locked(run):
        with pytest.raises(UserError) as error, locked(Run(run.root)):
            raise AssertionError("the second user must not get in")
        one_sentence(error.value, "another process", str(run.root), "--out")
        with locked(other):
            pass
    with pytest.raises(RuntimeError, match="planted"), locked(run):
        raise RuntimeError("planted")
    with locked(run):
        pass


def test_a_stage_is_known_by_its_hash(tmp_path):
    write_stage(tmp_path, "anchor", "abc")
    assert stage_hash(tmp_path) == "abc"
    assert stage_hash(tmp_path / "none") is None
    for content in (b"", b"{", b"[]", b"1", b"{}", b"\xff"):
        (tmp_path / "stage.json").write_bytes(content)
        assert stage_hash(tmp_path) is None


def test_a_stage_file_holds_no_clock_or_path(tmp_path):
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_stage(tmp_path / name, "branch", "d" * 64)
        found.append((tmp_path / name / "stage.json").read_bytes())
    assert found[0] == found[1]
    assert str(tmp_path).encode() not in found[0]
