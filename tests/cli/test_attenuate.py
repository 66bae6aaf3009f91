"""`attenuate`: the contract's JSON, the table that people see first, references and their defaults."""

import csv
import io
import json
import subprocess
import sys

import pytest

FEW = ("--trials", 64, "--components", "L0H0,heads,mlps")
ESTIMATE = {"estimate", "low", "high", "level", "method", "unit", "n"}


def test_json_is_the_contract(both, call):
    data = call("attenuate", *both, *FEW, "--reference", "own-mean,donor", "--format", "json").json()
    assert data["schema"] == "hyst-interp/attenuate/1"
    assert data["gap"].keys() >= ESTIMATE | {"trials"}
    assert data["gap"]["trials"] == data["gap"]["n"] == 64
    assert "these two networks only" in data["gap"]["method"]
    assert [(row["reference"], row["components"]) for row in data["rows"]] == [
        (reference, name) for reference in ("own-mean", "donor") for name in ("L0H0", "heads", "mlps")
    ]
    for row in data["rows"]:
        for name in ("logits_moved", "gap_after", "attenuation", "answer_mass"):
            assert row[name].keys() >= ESTIMATE
        moved, after = row["logits_moved"]["estimate"], row["gap_after"]["estimate"]
        assert moved + after == pytest.approx(data["gap"]["estimate"], abs=1e-6)
        assert row["attenuation"]["estimate"] == pytest.approx(moved / data["gap"]["estimate"], rel=1e-6)
        assert row["defined"] is True
        assert row["reason"] is None


def test_the_same_call_gives_the_same_bytes(both, call):
    line = ("attenuate", *both, "--trials", 16, "--components", "heads", "--format", "json")
    assert call(*line).out == call(*line).out


def test_the_runs_own_anchor_is_a_default_where_its_hash_is_the_recorded_one(both, mini, call):
    def references(*arguments: object) -> list[str]:
        line = ("attenuate", *arguments, "--trials", 8, "--components", "L0H0", "--format", "json")
        return [row["reference"] for row in call(*line).json()["rows"]]

    three = ["own-mean", "pooled-mean", "donor"]
    orphans = (mini / "orphans" / "below", mini / "orphans" / "above")
    assert references(*both) == [*three, "anchor-mean"]
    assert references(*orphans) == three
    assert references(*orphans, "--anchor", mini / "seed-100" / "anchor") == [*three, "anchor-mean"]
    assert references(*both, "--reference", "anchor-mean,donor") == ["anchor-mean", "donor"]


def test_an_anchor_that_is_not_used_is_said(both, mini, call):
    anchor = mini / "seed-100" / "anchor"
    found = call("attenuate", *both, "--trials", 8, "--components", "L0H0", "--reference", "donor", "--anchor", anchor)
    assert found.status == 0
    assert "--anchor is not used" in found.err


def test_what_makes_a_pair_uneven_is_said(both, mini, call):
    few = ("--trials", 8, "--components", "L0H0", "--reference", "anchor-mean")
    found = call("attenuate", both[0], mini / "seed-100" / "anchor", *few, "--anchor", both[1])
    assert found.status == 0
    assert "positions 40 and 0" in found.err
    assert "not the recorded ancestor" in found.err


def test_undefined_is_null_with_its_reason(mini, call):
    anchor = mini / "seed-100" / "anchor"
    line = ("attenuate", anchor, anchor, "--trials", 16, "--components", "heads", "--reference", "own-mean")
    (row,) = call(*line, "--format", "json").json()["rows"]
    assert row["defined"] is False
    assert row["attenuation"]["estimate"] is None
    assert row["reason"]
    table = call(*line).out
    assert table.count("undefined: ") == 1
    (row,) = csv.DictReader(io.StringIO(call(*line, "--format", "csv").out))
    assert row["attenuation.estimate"] == ""
    assert row["reason"]


def test_the_table_fits_80_columns_and_says_what_it_speaks_of(both, call):
    found = call("attenuate", *both, "--trials", 64)
    assert (found.status, found.err) == (0, "")
    assert max(map(len, found.out.splitlines())) <= 80
    assert "\x1b" not in found.out
    assert found.out.startswith("gap ")
    assert "these two networks only" in " ".join(found.out.split())
    for word in ("own-mean", "pooled-mean", "donor", "anchor-mean", "L0H0", "L1MLP", "heads", "mlps", "all", "mass"):
        assert word in found.out


def test_every_position_moves_other_logits_than_the_query(both, call):
    line = ("attenuate", *both, "--trials", 16, "--components", "L0H0+L0H1", "--reference", "donor", "--format", "json")
    query, everywhere = (call(*line, "--positions", where).json() for where in ("query", "all"))
    assert query["gap"] == everywhere["gap"]
    assert query["rows"][0]["logits_moved"] != everywhere["rows"][0]["logits_moved"]


def test_csv_has_one_row_a_set_and_reference(both, call):
    found = call("attenuate", *both, *FEW, "--reference", "donor", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(found.out)))
    assert [row["components"] for row in rows] == ["L0H0", "heads", "mlps"]
    assert all(float(row["logits_moved.low"]) <= float(row["logits_moved.high"]) for row in rows)


@pytest.mark.process
def test_a_process_writes_json_alone(both):
    line = ["attenuate", *map(str, both), "--trials", "16", "--components", "heads", "--format", "json"]
    done = subprocess.run([sys.executable, "-m", "hyst_interp", *line], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["schema"] == "hyst-interp/attenuate/1"
