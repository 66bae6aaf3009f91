"""Permutation sampling: unbiased, honest about its error, exact in sum; and the figure of an account."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.summary import records
from hyst_interp.errors import UserError
from hyst_interp.plots.theme import INK
from hyst_interp.questions.shapley.figure import INSTEAD, TOGETHER, shapley_dumbbells
from hyst_interp.questions.shapley.games import all_coalitions, donor_game
from hyst_interp.questions.shapley.measure import (
    account,
    first_effects,
    interactions,
    last_effects,
    shapley,
    shapley_values,
)
from hyst_interp.questions.shapley.sampling import sampled_game, sampled_shapley
from hyst_interp.questions.shapley.summary import pair_rows, pairs, players
from hyst_interp.sites import components
from hyst_interp.streams import Stream

PLAYERS = components(2, 2)
REPEATS = 150


def lookup(table: np.ndarray, players=PLAYERS):
    """A table as a value function."""
    known = dict(zip(all_coalitions(players), table, strict=True))
    return lambda coalition: xr.DataArray(known[coalition], dims="trial")


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    return np.random.default_rng(7).normal(size=(64, 3))


@pytest.fixture(scope="module", params=[True, False], ids=["antithetic", "plain"])
def repeats(request, table):
    """Many independent accounts of one game."""
    value = lookup(table)
    return [sampled_shapley(value, PLAYERS, Stream("resampling", s), 20, request.param) for s in range(REPEATS)]


def test_the_mean_of_many_accounts_is_the_exact_one(repeats, table):
    found = np.stack([one["shapley"].values for one in repeats])
    error = found.std(0, ddof=1) / np.sqrt(REPEATS)
    assert (np.abs(found.mean(0) - shapley_values(table)) < 4.5 * error).all()


def test_intervals_hold_the_exact_value_about_as_often_as_they_say(repeats, table):
    exact = shapley_values(table).mean(1)
    held = []
    for one in repeats:
        rows = records(players(one))[:-1]
        held.append([row["sampling"].contains(float(value)) for row, value in zip(rows, exact, strict=True)])
    assert 0.9 <= np.mean(held) <= 0.99


def test_standard_errors_are_the_spread_of_accounts(repeats):
    spread = np.stack([one["shapley"].mean("trial").values for one in repeats]).std(0, ddof=1)
    told = np.sqrt(np.mean([one["standard_error"].values ** 2 for one in repeats], axis=0))
    np.testing.assert_allclose(told, spread, rtol=0.25)


def test_every_account_adds_up_and_its_ends_are_exact(repeats, table):
    for one in repeats[:5]:
        np.testing.assert_allclose(one["shapley"].sum("player"), table[-1] - table[0], atol=1e-12)
        np.testing.assert_allclose(one["first"], first_effects(table), atol=1e-14)
        np.testing.assert_allclose(one["last"], last_effects(table), atol=1e-14)
        np.testing.assert_allclose(one["sample_mean"].mean("sample"), one["shapley"].mean("trial"), atol=1e-12)
        np.testing.assert_array_equal(one["gap"], one["value_all"] - one["value_none"])


def test_a_reversed_order_takes_all_the_spread_of_pairs():
    """A game of single players and pairs: an order and its reverse give each player half of each of its pairs."""
    random, sets = np.random.default_rng(1), all_coalitions(PLAYERS)
    own = {player: random.normal(size=2) for player in PLAYERS}
    pairs = {(a, b): random.normal(size=2) for a in PLAYERS for b in PLAYERS if a < b}
    both = [[v for k, v in pairs.items() if set(k) <= one] for one in sets]
    table = np.array([sum([own[p] for p in one] + parts, np.zeros(2)) for one, parts in zip(sets, both, strict=True)])
    value = lookup(table)
    paired = sampled_shapley(value, PLAYERS, Stream("resampling", 0), 4)
    plain = sampled_shapley(value, PLAYERS, Stream("resampling", 0), 4, antithetic=False)
    np.testing.assert_allclose(paired["shapley"], shapley_values(table), atol=1e-12)
    assert paired["standard_error"].max() < 1e-12
    assert plain["standard_error"].min() > 1e-3


def test_accounts_depend_on_the_stream_alone_and_more_go_on_from_fewer(table):
    value = lookup(table)
    one, again, other = (sampled_shapley(value, PLAYERS, Stream("resampling", seed), 8) for seed in (3, 3, 4))
    xr.testing.assert_identical(one, again)
    assert np.abs(one["shapley"] - other["shapley"]).max() > 1e-3
    more = sampled_shapley(value, PLAYERS, Stream("resampling", 3), 12)
    np.testing.assert_array_equal(more["sample_mean"][:4], one["sample_mean"])


def test_sampling_a_pair_comes_near_its_exact_account(small_pair):
    game = donor_game(small_pair)
    exact, found = shapley(game), sampled_game(game, Stream("resampling", 1), 60)
    np.testing.assert_allclose(found["shapley"].sum("player"), exact["gap"], atol=1e-5)
    np.testing.assert_array_equal(found["gap"], exact["gap"])
    np.testing.assert_allclose(found["first"], exact["first"], atol=1e-5)
    away = np.abs(found["shapley"].mean("trial") - exact["shapley"].mean("trial"))
    assert (away < 6 * found["standard_error"] + 1e-6).all()
    assert found.attrs["game"] == "donor"
    assert pair_rows(pairs(found)) == []
    rows = records(players(found))
    assert all("samples of orders" in row["sampling"].method for row in rows[:-1])
    assert "sampling" not in rows[-1]


@pytest.mark.parametrize(("permutations", "antithetic"), [(0, True), (2, True), (7, True), (1, False), (-4, True)])
def test_too_few_permutations_are_refused_before_any_work(table, one_sentence, permutations, antithetic):
    def never(coalition):
        raise AssertionError("played")

    with pytest.raises(UserError) as refusal:
        sampled_shapley(never, PLAYERS, Stream("resampling", 0), permutations, antithetic)
    one_sentence(refusal.value, f"permutations is {permutations}")


@pytest.mark.parametrize("some", [(), (PLAYERS[0], PLAYERS[0])])
def test_nobody_and_the_same_player_twice_are_refused(table, one_sentence, some):
    with pytest.raises(UserError) as refusal:
        sampled_shapley(lookup(table), some, Stream("resampling", 0))
    one_sentence(refusal.value, "players are")


def drawn(sign: float = 1.0, stacked: bool = False, with_whom: bool = True):
    """An account of three planted players, and its figure: b and c only work together, a works alone."""
    names = ["a", "b", "c"]
    spread = 1 + 0.01 * np.linspace(-1, 1, 20)
    table = sign * np.array([0, 0.3, 0, 0.3, 0, 0.3, 1.0, 1.1])[:, None] * spread
    parts = {"shapley": shapley_values(table), "first": first_effects(table), "last": last_effects(table)}
    ends = {"value_all": table[-1], "value_none": table[0]}
    arrays = account(names, parts, ends, table[-1] - table[0])
    arrays["interaction"] = (("player_a", "player_b", "trial"), interactions(table))
    found = xr.Dataset(arrays, {"player": names, "player_a": names, "player_b": names})
    made = players(found)
    return records(made), shapley_dumbbells(made, pairs(found) if with_whom else None, stacked=stacked)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("stacked", [False, True])
def test_the_figure_shows_who_carries_the_gap_and_who_needs_company(sign, stacked):
    rows, figure = drawn(sign, stacked)
    traces = {trace.name: trace for trace in figure.data if trace.name not in ("interval", "span")}
    names = list(traces["Shapley value"].text)
    known = {str(row["player"]): row for row in rows}
    assert names[-1] == "sum"
    along = [sign * known[name]["shapley"].estimate for name in names[:-1]]
    assert along == sorted(along, reverse=True)  # who carries most of the gap stands on top, whatever its sign
    np.testing.assert_allclose(traces["Shapley value"].x, [known[name]["shapley"].estimate for name in names])
    for name, words in (("first", "alone, first to join"), ("last", "last to join")):
        np.testing.assert_allclose(traces[words].x, [known[one][name].estimate for one in names[:-1]], atol=1e-15)
    colours = dict(zip(names[:-1], traces["last to join"].marker.color, strict=True))
    assert colours == {"a": INSTEAD, "b": TOGETHER, "c": TOGETHER}
    pairs = traces["interaction"]
    place = {name: index for index, name in enumerate(names[:-1])}
    assert abs(pairs.z[place["b"]][place["c"]]) == np.nanmax(np.abs(np.array(pairs.z, dtype=float)))
    assert bool(pairs.reversescale) == (sign < 0)
    assert any("the gap" in str(note.text) for note in figure.layout.annotations)
    assert list(figure.layout.yaxis.ticktext) == [*names[:-1], "<b>Σ φ</b>"]
    gaps = [shape for shape in figure.layout.shapes if shape.x0 == shape.x1 == pytest.approx(sign * 1.1)]
    assert len(gaps) == 1


def test_the_figure_leaves_out_pairs_that_were_not_measured():
    _, figure = drawn(with_whom=False)
    assert not [trace for trace in figure.data if trace.type == "heatmap"]
    assert figure.layout.xaxis.domain == (0.0, 1.0)
    assert any(trace.name == "interval" and INK_RGB in str(trace.line.color) for trace in figure.data)


INK_RGB = ",".join(str(int(INK[i : i + 2], 16)) for i in (1, 3, 5))
