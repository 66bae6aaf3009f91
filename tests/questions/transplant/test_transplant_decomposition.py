"""The decomposition against plain loops over orders of exchange, its exact sums, and its rows."""

from itertools import permutations, product

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.summary import cell
from hyst_interp.questions.transplant.decomposition import FACTORS, decomposition, owned
from hyst_interp.questions.transplant.optimizer_cells import CELLS
from hyst_interp.questions.transplant.summary import curves, transplant_rows, transplant_table
from hyst_interp.statistics import over_trials, ratio_of_means, student_t

BRANCHES = ("below", "above")


def planted(trials: int = 6, updates=(0, 3), seed: int = 0) -> xr.Dataset:
    """Random float32 margins, with the coordinates of a real transplant."""
    values = np.random.default_rng(seed).normal(size=(2, len(CELLS), len(updates), trials)) + 1
    return xr.Dataset(
        {
            "margin": (("weights", "optimizer", "update", "trial"), values.astype(np.float32)),
            "step": (("weights", "optimizer"), seed + np.arange(2 * len(CELLS)).reshape(2, -1)),
        },
        {
            "weights": list(BRANCHES),
            "optimizer": list(CELLS),
            "what": ("optimizer", ["words"] * len(CELLS)),
            "update": list(updates),
        },
    )


def many(seeds: int = 3, orders: int = 2) -> xr.Dataset:
    rows = [xr.concat([planted(seed=10 * s + o) for o in range(orders)], "order") for s in range(seeds)]
    return xr.concat(rows, "seed").assign_coords(seed=range(seeds), order=range(orders))


def value(found: xr.Dataset, weights: str, first: str, second: str) -> float:
    """The margin of one network, of the first trial at the second update, by the names of the cells."""
    cell = {
        (True, True): "own",
        (False, False): "other",
        (False, True): "first moment",
        (True, False): "second moment",
    }[first == weights, second == weights]
    return float(found["margin"].sel(weights=weights, optimizer=cell).isel(update=1, trial=0))


def along(found: xr.Dataset, orders) -> dict[str, float]:
    """Mean over orders of what exchanging each factor, from above's to below's, adds to the margin."""
    total = dict.fromkeys(FACTORS, 0.0)
    for order in orders:
        state = dict.fromkeys(FACTORS, "above")
        for factor in order:
            before = value(found, *(state[one] for one in FACTORS))
            state[factor] = "below"
            total[factor] += value(found, *(state[one] for one in FACTORS)) - before
    return {factor: number / len(orders) for factor, number in total.items()}


def approximately(value):
    """Numbers up to rounding, words as they are."""
    return pytest.approx(value, rel=1e-12) if isinstance(value, float) else value


def test_all_eight_networks_are_found_among_the_cells():
    found = planted()
    cube = owned(found).isel(update=1, trial=0)
    for weights, first, second in product(BRANCHES, repeat=3):
        where = {"weights": weights, "first moment": first, "second moment": second}
        assert float(cube.sel(where)) == value(found, weights, first, second)
    assert len(np.unique(cube.values)) == 8


def test_shares_equal_a_plain_loop_over_orders_of_exchange():
    found = planted()
    parts = decomposition(found).isel(update=1, trial=0)
    shapley = along(found, list(permutations(FACTORS)))
    for factor in FACTORS:
        assert float(parts["shapley"].sel(factor=factor)) == pytest.approx(shapley[factor], rel=1e-12)
    blocks = [one for one in permutations(FACTORS) if one.index("weights") != 1]  # the moments go as one block
    owen = along(found, blocks)
    assert float(parts["weights"]) == pytest.approx(owen["weights"], rel=1e-12)
    for moment in FACTORS[1:]:
        assert float(parts["moments"].sel(moment=moment)) == pytest.approx(owen[moment], rel=1e-12)
    assert abs(owen["weights"] - shapley["weights"]) > 1e-3  # two different questions where factors interact


def test_effects_and_interactions_equal_their_formulas():
    found = planted()
    parts = decomposition(found).isel(update=1, trial=0)
    m = {(w, o): value(found, w, o, o) for w in BRANCHES for o in BRANCHES}
    b, a = BRANCHES
    assert float(parts["gap"]) == m[b, b] - m[a, a]
    assert float(parts["weights"]) == pytest.approx(np.mean([m[b, o] - m[a, o] for o in BRANCHES]))
    assert float(parts["optimizer"]) == pytest.approx(np.mean([m[w, b] - m[w, a] for w in BRANCHES]))
    assert float(parts["interaction"]) == pytest.approx((m[b, b] - m[b, a]) - (m[a, b] - m[a, a]))
    two = [
        (value(found, b, b, v) - value(found, b, a, v)) - (value(found, a, b, v) - value(found, a, a, v))
        for v in BRANCHES
    ]
    assert float(parts["pairwise"].sel(pair="weights × first moment")) == pytest.approx(np.mean(two))
    three = [
        (value(found, w, b, b) - value(found, w, b, a)) - (value(found, w, a, b) - value(found, w, a, a))
        for w in BRANCHES
    ]
    assert float(parts["pairwise"].sel(pair="first moment × second moment")) == pytest.approx(np.mean(three))


def test_the_gap_under_one_optimizer_state():
    found = planted()
    shared, margin = decomposition(found)["shared"], found["margin"].astype("float64")
    for state in ("anchor", "reset", "zeroed"):
        one = margin.sel(optimizer=state)
        np.testing.assert_array_equal(shared.sel(state=state), one.sel(weights="below") - one.sel(weights="above"))
    below, above = margin.sel(weights="below"), margin.sel(weights="above")
    expected = below.sel(optimizer="own") - above.sel(optimizer="other")
    np.testing.assert_array_equal(shared.sel(state="below's"), expected)
    np.testing.assert_allclose(
        shared.sel(state=["below's", "above's"]).mean("state"), decomposition(found)["weights"], rtol=1e-12, atol=1e-15
    )


def test_sums_are_exact():
    parts = decomposition(many())
    assert (parts["weights"] + parts["optimizer"] == parts["gap"]).all()  # float32 margins, added in float64
    np.testing.assert_allclose(parts["shapley"].sum("factor"), parts["gap"].values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(parts["moments"].sum("moment"), parts["optimizer"].values, rtol=0, atol=1e-12)


def test_effects_that_only_add_up_are_given_back():
    found = planted()
    effect = {"weights": 0.5, "first moment": -0.25, "second moment": 0.125}
    for weights, first, second in product(BRANCHES, repeat=3):
        owners = dict(zip(FACTORS, (weights, first, second), strict=True))
        cell = {(1, 1): "own", (0, 0): "other", (0, 1): "first moment", (1, 0): "second moment"}
        name = cell[first == weights, second == weights]
        number = sum(effect[one] for one in FACTORS if owners[one] == "below")
        found["margin"].loc[{"weights": weights, "optimizer": name}] = number
    parts = decomposition(found)
    assert (parts["gap"] == 0.375).all()
    assert (parts["weights"] == 0.5).all()
    assert (parts["optimizer"] == -0.125).all()
    for name in ("interaction", "pairwise"):
        assert (parts[name] == 0).all()
    for factor, number in effect.items():
        np.testing.assert_allclose(parts["shapley"].sel(factor=factor), number, rtol=1e-12)
    for moment in FACTORS[1:]:
        np.testing.assert_allclose(parts["moments"].sel(moment=moment), effect[moment], rtol=1e-12)


def test_exchanging_the_names_of_the_histories_turns_every_effect():
    found = planted()
    turned = found.isel(weights=[1, 0]).assign_coords(weights=list(BRANCHES))
    there, back = decomposition(found), decomposition(turned)
    for name in ("gap", "weights", "optimizer", "moments", "shapley"):
        np.testing.assert_allclose(back[name].values, -there[name].values, rtol=0, atol=1e-12, err_msg=name)
    for name in ("interaction", "pairwise"):
        np.testing.assert_allclose(back[name].values, there[name].values, rtol=0, atol=1e-12, err_msg=name)


def test_rows_of_many_seeds_average_orders_and_take_the_seed_as_unit():
    found = many()
    parts = decomposition(found)
    rows = transplant_rows(transplant_table(found))
    assert [row["updates"] for row in rows] == [0, 3]
    for index, row in enumerate(rows):
        here = parts.isel(update=index)

        def seeds(array):
            return array.mean(["trial", "order"]).transpose("seed").values

        assert row["optimizer"].estimate == pytest.approx(student_t(seeds(here["optimizer"]), "logits").estimate)
        assert row["optimizer"].n == 3
        reset = student_t(seeds(here["shared"].sel(state="reset")), "logits")
        assert (row["shared: reset"].low, row["shared: reset"].high) == pytest.approx((reset.low, reset.high))
        share = ratio_of_means(seeds(here["weights"]), seeds(here["gap"]), unit="share of the gap")
        assert (row["weights_share"].estimate is None) == (share.estimate is None)


def test_rows_of_one_pair_speak_of_two_networks_only():
    found = planted(trials=30)
    row = transplant_rows(transplant_table(found))[1]
    gap = over_trials(decomposition(found)["gap"].isel(update=1).values, "logits")
    assert row["gap"].to_dict() == {key: approximately(value) for key, value in gap.to_dict().items()}
    assert "two networks only" in row["moments: first moment"].method


@pytest.mark.parametrize("found", [many(), planted(trials=12)], ids=["seeds", "pair"])
def test_the_table_holds_every_curve_and_its_shares(found):
    lines, table = curves(found), transplant_table(found)
    assert list(table["quantity"].values) == [*lines["quantity"].values, "weights_share", "optimizer_share"]
    means = lines.mean("seed" if "seed" in lines.dims else "trial")
    np.testing.assert_allclose(table["estimate"].sel(quantity=lines["quantity"]), means, rtol=0, atol=1e-12)
    for row in transplant_rows(table):
        at = table.sel(update=row["updates"])
        for name in table["quantity"].values:
            assert row[str(name)] == cell(at, quantity=name)
