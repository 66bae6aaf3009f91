"""`weights`, `information`, `cross`, `edges`, and `shapley`: JSON, sums, controls, and 80 columns."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from hyst_interp.cli import main
from hyst_interp.cli.output import Answer, to_csv

ESTIMATE = {"estimate", "low", "high", "level", "method", "unit", "n"}
LINES = {
    "weights": ("weights", "--trials", 16),
    "information": ("information", "--trials", 16, "--components", "heads,L1MLP,L0H0+L1H1"),
    "cross": ("cross", "--trials", 16),
    "cross result": ("cross", "--trials", 16, "--site", "result"),
    "cross mlp_out": ("cross", "--trials", 16, "--site", "mlp_out"),
    "edges": ("edges", "--trials", 16, "--faithfulness", 0.7),
    "edges rename": ("edges", "--trials", 16, "--twin", "rename", "--faithfulness", 0.7, "--steps", 2),
    "shapley": ("shapley", "--trials", 16, "--components", "heads", "--game", "own-mean"),
}


@dataclass(frozen=True)
class Told:
    """One call's answer in every format, and the page that it drew."""

    table: str
    data: dict
    rows: list[dict[str, str]]
    page: str


@pytest.fixture(scope="module")
def told(mini, tmp_path_factory) -> Callable[[str], Told]:
    """`told(name)`: the answer of one of `LINES`, measured once."""
    kept: dict[str, Told] = {}
    both = [str(mini / "seed-100" / "order-0" / branch) for branch in ("below", "above")]

    def ask(name: str) -> Told:
        if name not in kept:
            page = tmp_path_factory.mktemp("pages") / "figure.html"
            command, *options = LINES[name]
            answers: list[Answer] = []
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("hyst_interp.cli.app.write", answers.append)
                assert main([command, *both, *map(str, options), "--figure", str(page)]) == 0
            (answer,) = answers
            assert answer.data["wrote"] == [str(page)]
            data = json.loads(json.dumps(answer.data, allow_nan=False))
            rows = list(csv.DictReader(io.StringIO(to_csv(answer.rows))))
            kept[name] = Told(answer.table(False), data, rows, page.read_text("utf-8"))
        return kept[name]

    return ask


@pytest.mark.parametrize("name", LINES)
def test_tables_fit_80_columns_and_say_what_they_speak_of(name, told):
    table = told(name).table
    wrote = [line for line in table.splitlines() if line.startswith("wrote ")]
    assert len(wrote) == 1
    assert all(len(line) <= 80 for line in table.splitlines() if line not in wrote)
    assert "…" not in table
    assert "\x1b" not in table
    assert table.startswith("gap ")
    assert "these two networks only" in " ".join(table.split())


@pytest.mark.parametrize("name", LINES)
def test_json_has_the_pair_csv_has_rows_and_the_figure_is_a_page(name, told):
    data = told(name).data
    command = LINES[name][0]
    assert next(iter(data)) == "schema"
    assert data["schema"] == f"hyst-interp/{command}/1"
    assert data["gap"].keys() >= ESTIMATE | {"trials"}
    assert data["gap"]["trials"] == data["gap"]["n"]
    assert set(data["margins"]) == {"below", "above"}
    assert len(told(name).rows) > 4
    assert "<html" in told(name).page


def test_the_same_call_gives_the_same_bytes(both, call):
    line = ["weights", *both, "--trials", 4, "--format", "json"]
    assert call(*line).out == call(*line).out


def test_weights_have_their_control_and_full_estimates(told):
    data = told("weights").data
    assert data["control"]["largest"] == 0
    for row in data["rows"]:
        for name in ("logits_moved", "share", "into_below", "into_above", "interaction"):
            assert row[name].keys() >= ESTIMATE
        assert row["level"] in ("family", "group")
    names = [row["group"] for row in data["rows"]]
    assert {"embeddings", "unembedding", "L0H0 QK", "L1H1 OV", "L0MLP in", "QK", "sum over groups"} <= set(names)
    assert "is 0 exactly" in " ".join(told("weights").table.split())


def test_information_names_who_can_be_trusted_and_why(told):
    data = told("information").data
    assert set(data["rule"]) == {"mass_kept", "divergence", "tolerance"}
    assert {row["estimator"] for row in data["rows"]} == {
        "parts moved",
        "own and pooled",
        "own and anchor",
        "own and other",
    }
    for row in data["rows"]:
        assert (row["reason"] is None) == (row["verdict"] == "trusted")
        assert row["mean"].keys() >= ESTIMATE
        assert row["mean_share"].keys() >= ESTIMATE
    assert {row["components"] for row in data["distances"]} == {"heads", "L1MLP", "L0H0+L1H1"}
    verdicts = told("information").table.split("Which estimator can be trusted here")[1]
    for name in ("parts moved: ", "own and pooled: ", "own and other: "):
        assert name in verdicts


def test_without_an_anchor_at_hand_its_estimator_is_left_out(mini, call):
    orphans = (mini / "orphans" / "below", mini / "orphans" / "above")
    data = call("information", *orphans, "--trials", 8, "--components", "heads", "--format", "json").json()
    assert [row["estimator"] for row in data["rows"]] == ["parts moved", "own and pooled", "own and other"]


def test_crossing_has_every_cell_with_its_ends_and_every_depth(told):
    data = told("cross result").data
    assert data["dims"] == ["layer", "head", "role"]
    shape = tuple(len(data["coords"][dim]) for dim in data["dims"])
    assert shape == (2, 2, 6)
    effects = {name: np.array(one["estimate"]) for name, one in data["effects"].items()}
    assert all(one.shape == shape for one in effects.values())
    assert effects["asymmetry"] == pytest.approx(effects["necessary"] - effects["sufficient"], abs=1e-9)
    assert effects["moved"] == pytest.approx((effects["necessary"] + effects["sufficient"]) / 2, abs=1e-9)
    assert data["control"]["largest"] == 0
    depths = data["ladder"]
    assert depths[0]["moved"]["estimate"] == 0
    assert depths[-1]["moved"]["estimate"] == pytest.approx(data["gap"]["estimate"], abs=1e-5)
    assert len(told("cross result").rows) == 4 * np.prod(shape) + 2 * len(depths)


@pytest.mark.parametrize("twin", ["value", "rename"])
def test_edges_have_all_edges_and_both_circuits(twin, told):
    data = told("edges" if twin == "value" else "edges rename").data
    assert (data["twin"], data["faithfulness"]) == (twin, 0.7)
    assert len(data["edges"]) == len(data["gap_edges"])
    for row in data["edges"]:
        assert all(row[name].keys() >= ESTIMATE for name in ("below", "above", "difference"))
    for one in data["circuits"]:
        share = one["faithfulness"]
        assert share["reason"] if share["estimate"] is None else share["estimate"] >= 0.7
        assert len(one["edges"]) == one["size"]
        inside = [row["edge"] for row in data["edges"] if one["history"] in row["in_circuit"]]
        assert sorted(inside) == sorted(one["edges"])
    assert ("attribution" in data) == (twin == "rename")
    assert all(row["steps"] == 2 for row in data.get("attribution", ()))


def test_shapley_values_of_donors_add_up_to_the_gap(both, call):
    data = call("shapley", *both, "--trials", 16, "--format", "json").json()
    donor, own = data["games"]
    assert (donor["game"], own["game"]) == ("donor", "own-mean")
    assert (donor["coalitions"], own["coalitions"]) == (2**7, 2**6)
    total = donor["rows"][-1]
    assert total["player"] == "sum"
    assert total["shapley"]["estimate"] == pytest.approx(data["gap"]["estimate"], abs=1e-5)
    assert total["rest"]["estimate"] == pytest.approx(0, abs=1e-6)
    players = [row["player"] for row in donor["rows"]]
    assert players[-2] == "everything else"
    assert len(donor["pairs"]) == 7 * 6 // 2
    assert len(donor["answer_mass"]) == 8
    for row in donor["rows"]:
        assert all(row[name].keys() >= ESTIMATE for name in ("shapley", "share", "first", "last", "together"))


def test_two_copies_of_one_network_move_nothing(mini, call):
    anchor = mini / "seed-100" / "anchor"
    data = call("weights", anchor, anchor, "--trials", 8, "--format", "json").json()
    for row in data["rows"]:
        assert row["logits_moved"]["estimate"] == 0
        assert row["share"]["estimate"] is None
        assert row["share"]["reason"]
    assert call("cross", anchor, anchor, "--trials", 4).status == 0
    found = call("information", anchor, anchor, "--trials", 8, "--components", "heads")
    assert "the gap may be 0" in " ".join(found.out.split())


def test_sampling_is_said(both, call, monkeypatch):
    monkeypatch.setattr("hyst_interp.questions.shapley.measure.MOST_PLAYERS", 3)
    line = ("shapley", *both, "--trials", 8, "--components", "L0H0,L1H0,L1H1", "--game", "donor")
    found = call(*line, "--format", "json")
    assert "orders were sampled" in found.err
    (donor,) = found.json()["games"]
    assert donor["coalitions"] is None
    assert donor["permutations"] >= 100
    assert donor["rows"][0]["sampling"].keys() >= ESTIMATE
    assert "sampled" in call(*line).out
