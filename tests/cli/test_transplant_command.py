"""`transplant`: weights or optimizer, read from a finished run; its control; and runs that cannot have it."""

import csv
import io
import shutil

import pytest

from hyst_interp.config.study import load_study
from hyst_interp.storage.run import open_run

ESTIMATE = {"estimate", "low", "high", "level", "method", "unit", "n"}


def test_json_is_the_contract(tiny_run, call):
    data = call("transplant", tiny_run, "--format", "json").json()
    assert data["schema"] == "hyst-interp/transplant/1"
    assert data["seeds"] == [0, 1]
    assert [row["updates"] for row in data["rows"]] == [0, 1, 5]
    for row in data["rows"]:
        assert row["gap"]["n"] == 2
        for name in ("gap", "weights", "optimizer", "interaction", "shared: reset", "weights_share"):
            assert row[name].keys() >= ESTIMATE
        assert row["weights"]["estimate"] + row["optimizer"]["estimate"] == pytest.approx(row["gap"]["estimate"])
        first, second = (row[f"moments: {name} moment"]["estimate"] for name in ("first", "second"))
        assert first + second == pytest.approx(row["optimizer"]["estimate"])
    assert {one["optimizer"] for one in data["cells"]} >= {"own", "other", "anchor", "reset", "zeroed"}
    (reset,) = (one for one in data["cells"] if one["optimizer"] == "reset")
    assert reset["step"] == {"below": [0, 0], "above": [0, 0]}


def test_without_an_update_the_optimizer_does_nothing_and_with_some_it_does(tiny_run, call):
    data = call("transplant", tiny_run, "--format", "json").json()
    assert data["control"]["largest"] == 0
    assert data["rows"][0]["optimizer"]["estimate"] == data["rows"][0]["interaction"]["estimate"] == 0
    assert data["rows"][-1]["optimizer"]["estimate"] != 0


def test_the_table_fits_80_columns_and_has_its_control(tiny_run, call):
    found = call("transplant", tiny_run)
    assert (found.status, found.err) == (0, "")
    assert max(map(len, found.out.splitlines())) <= 80
    assert "…" not in found.out
    words = " ".join(found.out.split())
    for one in ("weights + optimizer = gap", "first moment", "reset", "zeroed", "is 0 exactly", "over 2 seeds"):
        assert one in words


def test_some_seeds(tiny_run, call, one_sentence):
    data = call("transplant", tiny_run, "--seeds", 1, "--format", "json").json()
    assert data["seeds"] == [1]
    assert data["rows"][0]["gap"]["low"] is None
    assert data["rows"][0]["gap"]["reason"]
    assert "no interval" in call("transplant", tiny_run, "--seeds", 1).out
    found = call("transplant", tiny_run, "--seeds", "0-4")
    assert (found.status, found.out) == (2, "")
    one_sentence(found.err.rstrip("\n"), "2")


def test_csv_and_figure(tiny_run, tmp_path, call):
    page = tmp_path / "transplant.html"
    found = call("transplant", tiny_run, "--format", "csv", "--figure", page)
    rows = list(csv.DictReader(io.StringIO(found.out)))
    assert [row["updates"] for row in rows] == ["0", "1", "5"]
    assert float(rows[0]["optimizer.estimate"]) == 0
    assert "<html" in page.read_text("utf-8")


def test_runs_without_it_say_what_to_do(tiny_run, tmp_path, call, one_sentence):
    unfinished = tmp_path / "unfinished"
    (unfinished / "results").mkdir(parents=True)
    shutil.copy(tiny_run / "study.toml", unfinished)
    study = load_study("tiny")
    open_run(tmp_path / "bare", study.replace(save_optimizer=()), resume=False)
    localization = study.to_json()["localization"] | {"orders": 0}
    open_run(tmp_path / "without", study.replace(localization=localization), resume=False)
    for name, words in (
        ("unfinished", ("results/transplant.nc", "--resume")),
        ("bare", ("optimizer state", "save_optimizer")),
        ("without", ("localization.orders",)),
    ):
        found = call("transplant", tmp_path / name)
        assert (found.status, found.out) == (2, "")
        one_sentence(found.err.rstrip("\n"), *words)
