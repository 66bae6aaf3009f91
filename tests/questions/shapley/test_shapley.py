"""Shapley values and interactions of any table: the axioms, closed forms, and the textbook's definitions."""

from itertools import combinations, permutations
from math import factorial

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.summary import records
from hyst_interp.questions.shapley.controls import values_against_gap
from hyst_interp.questions.shapley.games import EVERYTHING_ELSE, Coalition, all_coalitions
from hyst_interp.questions.shapley.measure import (
    first_effects,
    interactions,
    last_effects,
    number_of_players,
    shapley_values,
)
from hyst_interp.questions.shapley.summary import places, players
from hyst_interp.sites import Component
from hyst_interp.statistics import student_t

PLAYERS = [Component(layer, head) for layer in range(2) for head in range(4)] + [
    Component(0),
    Component(1),
    EVERYTHING_ELSE,
]


def random_table(n: int, trials: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2**n, trials))


def table_of(n: int, value) -> np.ndarray:
    """The table of a game on players 0 … n − 1, from a function of a set of their indices."""
    sets = [{i for i in range(n) if mask >> i & 1} for mask in range(2**n)]
    return np.array([[float(value(one))] for one in sets])


def by_orders(table: np.ndarray, n: int) -> np.ndarray:
    """Shapley values by their definition: the mean over all orders of what a player adds to those before it."""
    total = np.zeros((n, *table.shape[1:]))
    for order in permutations(range(n)):
        mask = 0
        for player in order:
            total[player] += table[mask | 1 << player] - table[mask]
            mask |= 1 << player
    return total / factorial(n)


def interaction_by_orders(table: np.ndarray, n: int, a: int, b: int) -> np.ndarray:
    """The mean second difference over all orders in which a and b come as one."""
    others = [i for i in range(n) if i not in (a, b)]
    found = []
    for order in permutations([*others, "both"]):
        mask = sum(1 << i for i in order[: order.index("both")])
        joint = table[mask | 1 << a | 1 << b]
        found.append(joint - table[mask | 1 << a] - table[mask | 1 << b] + table[mask])
    return np.mean(found, axis=0)


def dividends(table: np.ndarray, n: int) -> dict[tuple[int, ...], np.ndarray]:
    """Harsanyi dividends: what each set adds that none of its subsets has."""
    sets = [one for size in range(n + 1) for one in combinations(range(n), size)]
    found: dict[tuple[int, ...], np.ndarray] = {}
    for one in sets:
        inner = [known for known in found if set(known) < set(one)]
        found[one] = table[sum(1 << i for i in one)] - sum((found[k] for k in inner), np.zeros(table.shape[1:]))
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_values_are_the_mean_over_all_orders(n):
    table = random_table(n)
    np.testing.assert_allclose(shapley_values(table), by_orders(table, n), atol=1e-13)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_interactions_are_the_mean_second_difference_over_all_orders_of_a_joint_pair(n):
    table = random_table(n)
    found = interactions(table)
    for a, b in combinations(range(n), 2):
        np.testing.assert_allclose(found[a, b], interaction_by_orders(table, n, a, b), atol=1e-13)
        np.testing.assert_array_equal(found[a, b], found[b, a])
    assert np.isnan(found[range(n), range(n)]).all()


@pytest.mark.parametrize("n", [3, 5])
def test_everything_is_a_sum_over_dividends(n):
    """φ shares a dividend between the members of its set, the interaction between all but one, ends do not share."""
    table = random_table(n)
    parts = dividends(table, n)
    values, pairs = shapley_values(table), interactions(table)
    together = last_effects(table) - first_effects(table)
    for i in range(n):
        own = {one: part for one, part in parts.items() if i in one}
        np.testing.assert_allclose(values[i], sum(part / len(one) for one, part in own.items()), atol=1e-12)
        np.testing.assert_allclose(first_effects(table)[i], parts[(i,)], atol=1e-12)
        needs = sum(part for one, part in own.items() if len(one) > 1)
        np.testing.assert_allclose(together[i], needs, atol=1e-12)
        for j in range(i):
            shared = sum(part / (len(one) - 1) for one, part in own.items() if j in one)
            np.testing.assert_allclose(pairs[i, j], shared, atol=1e-12)


@pytest.mark.parametrize("n", [1, 4, 11])
def test_efficiency_on_every_trial(n):
    table = random_table(n, trials=50)
    np.testing.assert_allclose(shapley_values(table).sum(0), table[-1] - table[0], atol=1e-12)


def test_a_dummy_gets_what_it_brings_and_nothing_else():
    rest = random_table(4)
    bring = np.array([0.25, -3.0, 0.0])
    table = np.concatenate([rest, rest + bring])  # player 4 is the highest bit
    np.testing.assert_allclose(shapley_values(table)[4], bring, atol=1e-14)
    np.testing.assert_allclose(interactions(table)[4, :4], 0, atol=1e-14)
    np.testing.assert_allclose(shapley_values(table)[:4], shapley_values(rest), atol=1e-13)
    np.testing.assert_allclose(first_effects(table)[4], bring, atol=1e-14)
    np.testing.assert_allclose(last_effects(table)[4], bring, atol=1e-14)


def test_symmetric_players_get_the_same_and_a_new_name_changes_nothing():
    n, masks = 5, np.arange(32)
    swapped = (masks & ~0b1010) | ((masks >> 1 & 1) << 3) | ((masks >> 3 & 1) << 1)
    table = random_table(n)
    even = table + table[swapped]
    values, pairs = shapley_values(even), interactions(even)
    np.testing.assert_allclose(values[1], values[3], atol=1e-13)
    np.testing.assert_allclose(pairs[0, 1], pairs[0, 3], atol=1e-13)
    renamed = shapley_values(table[swapped])
    np.testing.assert_allclose(renamed[[0, 3, 2, 1, 4]], shapley_values(table), atol=1e-13)
    assert np.abs(shapley_values(table)[1] - shapley_values(table)[3]).max() > 0.1


@pytest.mark.parametrize("part", [shapley_values, interactions, first_effects, last_effects])
def test_accounts_are_linear_in_the_game(part):
    one, other = random_table(5, seed=2), random_table(5, seed=3)
    np.testing.assert_allclose(part(2 * one - 0.5 * other), 2 * part(one) - 0.5 * part(other), atol=1e-12)


def test_unanimity_shares_equally_between_those_who_are_needed():
    n, needed = 6, {0, 2, 5}
    table = table_of(n, lambda one: needed <= one)
    expected = [1 / 3 if i in needed else 0 for i in range(n)]
    np.testing.assert_allclose(shapley_values(table)[:, 0], expected, atol=1e-14)
    np.testing.assert_allclose(first_effects(table)[:, 0], 0)
    np.testing.assert_allclose(last_effects(table)[:, 0], [float(i in needed) for i in range(n)])
    pairs = interactions(table)[..., 0]
    for a, b in combinations(range(n), 2):
        assert pairs[a, b] == pytest.approx(1 / 2 if {a, b} <= needed else 0, abs=1e-14)


def test_majority_shares_equally_between_all_and_nobody_can_do_it_alone():
    table = table_of(5, lambda one: len(one) >= 3)
    np.testing.assert_allclose(shapley_values(table)[:, 0], 0.2, atol=1e-14)
    assert not first_effects(table).any()
    assert not last_effects(table).any()
    # Over the 4 places of a joint pair: the third vote needs both after one, either is enough after two.
    np.testing.assert_allclose(interactions(table)[0, 1, 0], (1 - 1) / 4, atol=1e-14)


def test_the_glove_game():
    """One left glove, two right ones (Shapley values 2/3, 1/6, 1/6)."""
    table = table_of(3, lambda one: 0 in one and bool(one & {1, 2}))
    np.testing.assert_allclose(shapley_values(table)[:, 0], [2 / 3, 1 / 6, 1 / 6], atol=1e-14)
    pairs = interactions(table)[..., 0]
    np.testing.assert_allclose([pairs[0, 1], pairs[1, 2]], [1 / 2, -1 / 2], atol=1e-14)


def test_where_nothing_differs_everything_is_exactly_nothing():
    table = np.full((2**11, 3), 0.1) * [1, 3, 7]
    for part in (shapley_values, first_effects, last_effects):
        assert not part(table).any()
    pairs = interactions(table)
    assert not pairs[~np.isnan(pairs)].any()


def test_the_dual_game_has_the_same_account_and_exchanged_ends():
    """v'(S) = v(all ∖ S), as the histories exchanged: values change sign, interactions stay, ends change places."""
    table = random_table(5)
    dual = table[::-1]
    np.testing.assert_allclose(shapley_values(dual), -shapley_values(table), atol=1e-13)
    np.testing.assert_allclose(interactions(dual), interactions(table), atol=1e-13)
    np.testing.assert_array_equal(first_effects(dual), -last_effects(table))


def test_a_table_without_trials_is_as_good():
    table = random_table(4)
    np.testing.assert_allclose(shapley_values(table[:, 0]), shapley_values(table)[:, 0], atol=1e-14)
    np.testing.assert_allclose(interactions(table[:, 0]), interactions(table)[..., 0], atol=1e-14)


@pytest.mark.parametrize("size", [0, 3, 12, 2047])
def test_a_table_that_lacks_coalitions_is_refused(size):
    with pytest.raises(ValueError, match=f"{size} coalitions"):
        number_of_players(np.zeros((size, 1)))


def test_coalitions_come_in_the_order_of_their_masks():
    found = all_coalitions(PLAYERS)
    assert len(found) == len(set(found)) == 2048
    for mask in (0, 1, 5, 1024, 2047):
        expected: Coalition = frozenset(player for i, player in enumerate(PLAYERS) if mask >> i & 1)
        assert found[mask] == expected


def test_everything_else_sorts_last_and_can_be_printed():
    assert sorted([EVERYTHING_ELSE, *reversed(PLAYERS)])[-1] is EVERYTHING_ELSE
    assert min([EVERYTHING_ELSE, Component(7, 3)]) == Component(7, 3)
    assert Component(1) < EVERYTHING_ELSE
    assert not Component(1) > EVERYTHING_ELSE
    assert str(EVERYTHING_ELSE) == "everything else"
    with pytest.raises(TypeError):
        sorted([EVERYTHING_ELSE, "L0H0"])


def test_places_add_up_to_the_players():
    random = np.random.default_rng(2)
    names = ["L0H0", "L0H1", "L0MLP", "L1H0", "L1H1", "everything else"]
    values = random.normal(size=(3, 2, 6, 5))
    dims = ("seed", "order", "player", "trial")
    found = xr.Dataset(
        {name: (dims, values) for name in ("shapley", "first", "last")}
        | {"gap": (("seed", "order", "trial"), values.sum(2))},
        {"seed": [0, 1, 2], "player": names},
    )
    rows = records(places(found))
    assert [row["player"] for row in rows] == ["L0 heads", "L0MLP", "L1 heads", "everything else"]
    total = sum(row["shapley"].estimate for row in rows)
    assert total == pytest.approx(records(players(found))[-1]["gap"].estimate)
    heads = student_t(values[:, :, :2].sum(2).mean((1, 2)), "logits")
    assert (rows[0]["shapley"].method, rows[0]["shapley"].n) == (heads.method, 3)
    for end in ("estimate", "low", "high"):
        assert getattr(rows[0]["shapley"], end) == pytest.approx(getattr(heads, end))
    assert values_against_gap(found) == pytest.approx(0, abs=1e-12)
    found["shapley"][0, 0, 0, 0] += 0.5
    assert values_against_gap(found) == pytest.approx(0.5)
