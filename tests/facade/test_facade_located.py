"""Where the memory is, as one call on a pair: what the rooms below say, with controls, figures, and refusals."""

import numpy as np
import plotly.graph_objects as go
import pytest

import hyst_interp as hi
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.questions.crossing.figure import crossing_map
from hyst_interp.questions.crossing.measure import cross_model_patching
from hyst_interp.questions.crossing.summary import crossing_table
from hyst_interp.questions.edges.measure import pair_effects
from hyst_interp.questions.edges.pair_summary import edge_table
from hyst_interp.questions.shapley.measure import shapley
from hyst_interp.questions.transplant.measure import transplant
from hyst_interp.storage.checkpoint import save
from hyst_interp.storage.manifest import Ancestor, Provenance

FEW = 24


@pytest.fixture(scope="module")
def paths(tmp_path_factory, small_anchor, small_branches):
    root = tmp_path_factory.mktemp("located")
    ancestor = Ancestor(state=small_anchor.hash(), weights=small_anchor.weights_hash())
    save(small_anchor, root / "anchor")
    for branch, state in small_branches.items():
        place = Provenance(step=state.step, hold=0, anchor=ancestor)
        save(state, root / branch, place)
        save(state, root / f"bare-{branch}", place, optimizer=False)
    later = hi.advance(small_anchor, hi.hold_schedule(1, small_anchor.setup.p0))
    save(later, root / "another-anchor")
    return root


@pytest.fixture(scope="module")
def pair(paths):
    return hi.pair(paths / "below", paths / "above", trials=FEW, anchor=paths / "anchor")


@pytest.fixture(scope="module")
def same(paths):
    return hi.pair(paths / "anchor", paths / "anchor", trials=16)


def test_transplant_is_the_localizations_and_starts_from_the_gap(pair, small_branches, small_anchor):
    rows = pair.transplant([0, 2])
    direct = transplant(small_branches["below"], small_branches["above"], small_anchor, [0, 2], pair.data.trials)
    assert rows.found.identical(direct)
    assert [row["updates"] for row in rows] == [0, 2]
    assert rows[0]["gap"].estimate == pytest.approx(pair.gap().estimate, abs=1e-5)
    assert rows[0]["optimizer"].estimate == rows[0]["interaction"].estimate == 0
    assert rows[1]["optimizer"].estimate != 0
    for row in rows:
        assert row["weights"].estimate + row["optimizer"].estimate == pytest.approx(row["gap"].estimate)


def test_a_transplant_needs_the_anchor_and_optimizer_state_in_all_three(paths, one_sentence):
    anchor = paths / "anchor"
    for arguments, words in (
        ((paths / "below", paths / "above"), ("anchor",)),
        ((paths / "bare-below", paths / "above", anchor), ("bare-below", "optimizer state", "save_optimizer")),
        ((paths / "below", paths / "bare-above", anchor), ("bare-above", "optimizer state")),
        ((paths / "below", paths / "above", paths / "another-anchor"), ("another-anchor", "records")),
    ):
        below, above, *rest = arguments
        with pytest.raises(hi.UserError) as caught:
            hi.pair(below, above, trials=8, anchor=rest[0] if rest else None).transplant()
        one_sentence(caught.value, *words)


def test_weights_need_no_optimizer_and_sum_up_where_all_are_moved(paths):
    rows = hi.pair(paths / "bare-below", paths / "bare-above", trials=FEW).weights()
    found = rows.found
    assert np.array_equal(found["margin_all"].values, found["margin"].values[::-1])
    assert {row["level"] for row in rows} == {"family", "group"}
    assert [row["group"] for row in rows][-2:] == ["sum over groups", "sum over families"]
    # What all others leave of the gap in one direction is what the group moves in the other.
    gap = float((found["margin"].sel(branch="below") - found["margin"].sel(branch="above")).mean())
    for row in rows[:-2]:
        left = gap - row["all_but_into_below"].estimate
        assert left == pytest.approx(row["into_above"].estimate, abs=1e-5)


def test_donor_values_add_up_to_the_gap_and_own_means_leave_a_rest(pair):
    donor, own = pair.shapley(), pair.shapley("own-mean", "heads")
    assert [row["player"] for row in donor][-2:] == ["everything else", "sum"]
    assert donor[-1]["shapley"].estimate == pytest.approx(pair.gap().estimate, abs=1e-5)
    assert abs(donor[-1]["rest"].estimate) < 1e-6
    assert [row["player"] for row in own] == ["L0H0", "L0H1", "L1H0", "L1H1", "sum"]
    assert own[-1]["rest"].estimate + own[-1]["shapley"].estimate == pytest.approx(pair.gap().estimate, abs=1e-5)
    n = len(donor) - 1
    assert len(donor.beside["pairs"]) == n * (n - 1) // 2
    direct = shapley(hi.donor_game(pair.data))
    assert donor.found["shapley"].identical(direct["shapley"])


def test_too_many_players_are_sampled_and_that_is_said(pair, monkeypatch):
    exact = pair.shapley(components="L0H0,L1H0,L1MLP")
    monkeypatch.setattr("hyst_interp.questions.shapley.measure.MOST_PLAYERS", 3)
    sampled = pair.shapley(components="L0H0,L1H0,L1MLP")
    assert "coalitions, exact" not in repr(sampled)
    assert "too many for all coalitions (at most 3)" in repr(sampled)
    assert "too many" not in repr(exact)
    assert sampled.beside == {}
    for row, other in zip(sampled[:-1], exact[:-1], strict=True):
        assert row["sampling"].contains(other["shapley"].estimate) or row["sampling"].half_width < 1e-6
        assert row["shapley"].estimate == pytest.approx(other["shapley"].estimate, abs=0.05)


def test_information_tells_whom_to_trust_and_why(pair, same):
    rows = pair.information("heads,L1MLP")
    names = {row["estimator"] for row in rows}
    assert names == {"parts moved", "own and pooled", "own and anchor", "own and other"}
    for row in rows:
        parts = row["mean"].estimate + row["information"].estimate + row["remainder"].estimate
        assert parts == pytest.approx(row["whole"].estimate, abs=1e-6)
        assert (row["verdict"] == "trusted") == (row["reason"] == "")
    assert "parts moved: trusted for" in repr(rows)
    assert {row["components"] for row in rows.beside["distances"]} == {"heads", "L1MLP"}
    # Two copies of one network have no gap, so nobody can be trusted; without an anchor one estimator less is there.
    nothing = same.information("heads")
    assert len(nothing) == 3
    assert {row["verdict"] for row in nothing} == {"not trusted"}
    assert all("gap may be 0" in row["reason"] for row in nothing)


def test_crossing_is_a_table_that_a_figure_takes(pair):
    found = pair.crossing("result")
    assert found["estimate"].dims == ("effect", "layer", "head", "role")
    direct = crossing_table(cross_model_patching(pair.data, "result"))
    assert np.array_equal(found["estimate"].values, direct["estimate"].values)
    assert isinstance(crossing_map(found), go.Figure)


def test_the_layer_swap_goes_from_nothing_to_the_gap(pair):
    rows = pair.layer_swap()
    assert (rows[0]["rung"], rows[0]["moved"].estimate) == ("nothing", 0)
    assert rows[-1]["moved"].estimate == pytest.approx(pair.gap().estimate, abs=1e-5)
    assert sum(row["added"].estimate for row in rows) == pytest.approx(pair.gap().estimate, abs=1e-5)
    assert float(rows.found["end_error"].max()) == 0


def test_edges_are_the_exact_effects_largest_first_and_measured_once(pair, monkeypatch):
    rows = pair.edges("value", FEW)
    table = edge_table(pair_effects(pair.data, pair.below.task.twin(pair.data.trials, "value")))
    for row in rows[:5]:
        for name in ("below", "above", "difference"):
            expected = float(table["estimate"].sel(quantity=name).isel(edge=list(table["edge"]).index(row["edge"])))
            assert row[name].estimate == pytest.approx(expected)
    sizes = [max(abs(row["below"].estimate), abs(row["above"].estimate)) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert f"… and {len(rows) - 20} more" in repr(rows)
    monkeypatch.setattr("hyst_interp.questions.edges.methods.pair_effects", None)
    assert len(pair.edge_attribution("value", 2, FEW)) == 2


def test_edges_of_equal_histories_carry_no_gap(same, pair):
    assert all(row["moved"].estimate == 0 for row in same.gap_edges(8))
    rows = pair.gap_edges(FEW)
    for row in rows:
        assert row["moved"].estimate == pytest.approx((row["into_below"].estimate + row["into_above"].estimate) / 2)
    assert abs(rows[0]["moved"].estimate) >= abs(rows[-1]["moved"].estimate)


def test_a_circuit_keeps_what_was_asked_for_and_all_edges_keep_everything(pair):
    rows = pair.circuit("rename", 0.8, FEW)
    assert [row["history"] for row in rows] == ["below", "above"]
    for row in rows:
        assert row["faithfulness"].estimate >= 0.8
        assert row["size"] == len(row["edges"]) == len(row["circuit"])
    members = rows.found["member"].sel(quantity=["below", "above"]).sum("edge").values
    assert members.tolist() == [row["size"] for row in rows]
    assert 0 <= rows.found.attrs["jaccard"] <= 1
    assert "Ranked on 12 trials, judged on 12 others" in repr(rows)
    assert isinstance(rows.figure(), go.Figure)


def test_attribution_is_held_against_exact_effects(pair):
    rows = pair.edge_attribution("value", 10, FEW)
    assert rows.found["score"].dims == ("history", "steps", "edge")
    for row in rows:
        assert row["pearson"] > 0.5
        assert row["incompleteness"] < 0.5


ASKED = {
    "transplant": lambda pair: pair.transplant([0, 1]),
    "weights": lambda pair: pair.weights(),
    "donor": lambda pair: pair.shapley(components="heads"),
    "own-mean": lambda pair: pair.shapley("own-mean", "heads"),
    "information": lambda pair: pair.information("heads,mlps"),
    "layer swap": lambda pair: pair.layer_swap(),
    "edges": lambda pair: pair.edges("value", FEW),
    "gap edges": lambda pair: pair.gap_edges(8),
    "attribution": lambda pair: pair.edge_attribution("value", 2, FEW),
}


@pytest.mark.parametrize("name", ASKED)
def test_rows_print_as_a_table_and_draw_themselves(name, pair):
    rows = ASKED[name](pair)
    lines = repr(rows).splitlines()
    assert all(column.title in lines[0] for column in rows.columns)
    assert len(lines) >= 1 + min(len(rows), 20)
    figure = rows.figure()
    assert isinstance(figure, go.Figure)
    assert len(figure.data)
    assert isinstance(rows.figure(stacked=True), go.Figure)


def test_rows_without_a_figure_say_so(one_sentence):
    rows = Rows([{"a": 1.5, "b": None}], [Column("a", "first"), Column("b", "second")])
    assert repr(rows).splitlines() == ["first second", "1.5   –"]
    with pytest.raises(hi.UserError) as caught:
        rows.figure()
    one_sentence(caught.value, "hi.figures")


@pytest.mark.parametrize(
    ("ask", "word"),
    [
        (lambda pair: pair.shapley("zero"), "zero"),
        (lambda pair: pair.shapley(components="L0H0+L1H0"), "L0H0,L1H0"),
        (lambda pair: pair.shapley(components="L9H0"), "L9H0"),
        (lambda pair: pair.information("L9H0"), "L9H0"),
        (lambda pair: pair.crossing("pattern"), "pattern"),
        (lambda pair: pair.edges("query"), "query"),
        (lambda pair: pair.edges(trials=3), "3"),
        (lambda pair: pair.gap_edges(2), "2"),
        (lambda pair: pair.circuit(faithfulness=1.5), "1.5"),
        (lambda pair: pair.edge_attribution(steps=0), "0"),
        (lambda pair: pair.transplant([1, 0]), "[1, 0]"),
    ],
)
def test_refusals_name_the_value(pair, ask, word, one_sentence):
    with pytest.raises(hi.UserError) as caught:
        ask(pair)
    one_sentence(caught.value, word)
