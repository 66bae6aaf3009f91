"""Commands that read a run: `relax`, `report`, `compare --run`, and `reproduce` itself, on the session's tiny run."""

import shutil
from pathlib import Path

import pytest

from hyst_interp.storage.run import Run
from hyst_interp.study.reproduce import Outcome, read_rows


def test_relax_json_is_the_contract(tiny_run, call):
    data = call("relax", tiny_run, "--format", "json").json()
    assert data["schema"] == "hyst-interp/relax/1"
    assert data["relaxed"] in (True, False, None)
    assert data["reason"]
    rows = data["rows"]
    assert [row["position"] for row in rows] == sorted(row["position"] for row in rows)
    assert rows[0]["tau"] is None
    assert rows[-1]["hold"] == 25
    assert rows[-1]["tau"] == 25 + 5
    assert all(row["gap"]["n"] == 2 for row in rows)
    assert data["peak"]["tau"] >= 1


def test_relax_table_fits_80_columns(tiny_run, call):
    found = call("relax", tiny_run)
    assert (found.status, found.err) == (0, "")
    assert max(map(len, found.out.splitlines())) <= 80


def test_compare_reads_its_yardsticks_from_the_run(tiny_run, call):
    pair = [tiny_run / "seed-0" / "order-0" / branch for branch in ("below", "above")]
    data = call("compare", *pair, "--run", tiny_run, "--trials", 32, "--format", "json").json()
    assert data["schema"] == "hyst-interp/compare/1"
    assert set(data["similarity"]) == {"resid_pre", "result", "mlp_out"}
    for entry in data["similarity"].values():
        assert entry.keys() >= {"pearson", "spearman", "distance", "ceiling", "floor", "cells"}
        assert -1 <= entry["floor"] <= 1
        assert -1 <= entry["ceiling"] <= 1
        assert entry["distance_of_siblings"] >= 0
    assert 0 <= data["dominant_head"]["same_probability"] <= 1
    assert data["gain"]["resid_pre"]["value"].keys() >= {"slope", "difference_ratio"}


def test_a_run_of_another_task_is_refused(tiny_run, both, call, one_sentence):
    found = call("compare", *both, "--run", tiny_run)
    assert (found.status, found.out) == (2, "")
    one_sentence(found.err.rstrip("\n"), "task")


def test_without_a_run_ceiling_and_floor_are_null_with_a_reason(both, call):
    data = call("compare", *both, "--trials", 16, "--format", "json").json()
    for entry in data["similarity"].values():
        assert entry["ceiling"] is entry["floor"] is None
        assert "--run" in entry["reason"]
    assert data["gap"]["trials"] == 16


def test_compare_table_fits_80_columns(both, call):
    found = call("compare", *both, "--trials", 16)
    assert (found.status, found.err) == (0, "")
    assert max(map(len, found.out.splitlines())) <= 80
    assert "dominant head" in found.out


@pytest.fixture
def unfinished(tiny_run, tmp_path) -> Path:
    """The run's study without its results."""
    shutil.copy(tiny_run / "study.toml", tmp_path)
    (tmp_path / "results").mkdir()
    return tmp_path


def test_unfinished_runs_are_refused(unfinished, tiny_run, call, one_sentence):
    pair = [tiny_run / "seed-0" / "order-0" / branch for branch in ("below", "above")]
    for line in (["relax", unfinished], ["report", unfinished], ["compare", *pair, "--run", unfinished]):
        found = call(*line)
        assert (found.status, found.out) == (2, "")
        one_sentence(found.err.rstrip("\n"), "--resume", str(unfinished))


def test_report_names_what_it_read_and_wrote(tiny_run, tmp_path, call):
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    (run / "report.html").unlink(missing_ok=True)
    data = call("report", run, "--format", "json").json()
    assert str(run / "report.html") in data["wrote"]
    assert (run / "report.html").is_file()
    assert str(run / "results" / "trajectory.nc") in data["read"]


def test_reproduce_prints_the_claims(tiny_run, call, monkeypatch, tmp_path):
    calls = []

    def finished(study, out, workers, resume, listener, cluster):
        calls.append((study.name, study.seeds, out, workers, resume))
        return Outcome(read_rows(Run(tiny_run)), tiny_run, 3.5)

    monkeypatch.setattr("hyst_interp.study.reproduce.reproduce", finished)
    monkeypatch.chdir(tmp_path)
    data = call("reproduce", "--preset", "tiny", "--seeds", "0-1", "--workers", 2, "--format", "json").json()
    assert calls == [("tiny", (0, 1), Path("runs/tiny"), 2, False)]
    assert data["schema"] == "hyst-interp/reproduce/1"
    assert data["seconds"] == 3.5
    assert len(data["rows"]) == 9
    for row in data["rows"]:
        assert row.keys() >= {"quantity", "paper", "estimate", "low", "high", "verdict", "calibrated"}
    table = call("reproduce", "--preset", "tiny", "--out", "elsewhere", "--resume")
    assert calls[-1][2:] == (Path("elsewhere"), None, True)
    assert (table.status, table.err) == (0, "")
    assert "gap on arrival" in table.out
    assert list(tmp_path.iterdir()) == []


def test_reproduce_resumes_a_finished_run_at_once(tiny_run, tmp_path, call, monkeypatch):
    from hyst_interp.study.execute import InProcess

    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    monkeypatch.setattr("hyst_interp.study.reproduce.process_pool", lambda workers: InProcess())
    found = call("reproduce", "--preset", "tiny", "--resume", "--out", run, "--format", "json")
    assert found.json()["run"] == str(run)
    assert found.err == ""
