"""The one reduction: the numbers of one sample at a time, seeds before trials, and every cell an Estimate again."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.summary import NOT_MEASURED, cell, from_estimates, join, records, shares, summarise
from hyst_interp.statistics import over_trials, ratio_of_means, student_t, undefined


def planted(*dims: str, draw: int = 0, **sizes: int) -> xr.DataArray:
    shape = tuple(sizes.get(dim, 3) for dim in dims)
    values = np.random.default_rng(draw).normal(1, 2, shape)
    return xr.DataArray(values, {dim: np.arange(size) for dim, size in zip(dims, shape, strict=True)}, dims)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_over_seeds_it_is_student_t_of_means_over_trials_then_orders(n):
    values = planted("group", "seed", "order", "trial", draw=n, group=4, seed=n, order=2, trial=7)
    table = summarise(values)
    for group in values["group"].values:
        one = values.sel(group=group).mean("trial").mean("order").values
        plain, found = student_t(one, "logits"), cell(table, group=group)
        assert (found.method, found.unit, found.n, found.reason) == (plain.method, "logits", plain.n, plain.reason)
        for name in ("estimate", "low", "high"):
            wanted = getattr(plain, name)
            assert getattr(found, name) == (None if wanted is None else pytest.approx(wanted, rel=1e-12, abs=1e-12))


def test_over_the_trials_of_one_pair_it_says_that_it_speaks_of_these_alone():
    values = planted("trial", "group", trial=50).assign_attrs(units="nats")
    found = cell(summarise(values), group=2)
    plain = over_trials(values.sel(group=2).values, "nats")
    assert found.method == plain.method
    assert found.unit == "nats"
    assert found.low == pytest.approx(plain.low, abs=1e-12)


def test_shares_are_ratios_of_means_with_their_reason():
    part, whole = planted("seed", "group", draw=1), planted("seed", draw=2)
    table = shares(part, whole)
    for group in part["group"].values:
        assert cell(table, group=group) == ratio_of_means(
            part.sel(group=group).values, whole.values, "share of the gap"
        )
    nothing = shares(part, whole * 0)
    assert all(one["estimate"].reason for one in records(nothing))


def test_a_table_of_several_quantities_gives_rows_with_their_labels():
    values = xr.Dataset({"moved": planted("seed", "group"), "left": planted("seed", "group", draw=5)})
    table = summarise(values.assign_coords(kind=("group", ["a", "b", "c"])))
    rows = records(table)
    assert [(row["group"], row["kind"]) for row in rows] == [(0, "a"), (1, "b"), (2, "c")]
    assert rows[1]["left"] == cell(table, quantity="left", group=1)
    assert rows[1]["left"].estimate == pytest.approx(float(values["left"].sel(group=1).mean()))


def test_what_was_not_measured_is_said_and_left_out_of_rows():
    values = planted("seed", "group")
    values[:, 1] = np.nan
    table = summarise(values)
    assert cell(table, group=1).reason == NOT_MEASURED
    assert "estimate" not in records(table)[1]
    values[0, 2] = np.nan
    with pytest.raises(ValueError, match="1 cells"):
        summarise(values)


def test_estimates_go_in_and_come_out_the_same():
    made = [student_t([1.0, 2.0, 4.0], "logits"), undefined("why not", "nats", 3), ratio_of_means([1, 2], [0.1, -0.1])]
    table = from_estimates(made, "row", ["a", "b", "c"])
    assert [cell(table, row=name) for name in ("a", "b", "c")] == made
    assert join({"x": table, "y": table}).sizes == {"quantity": 2, "row": 3}


def test_values_without_replicates_are_refused():
    with pytest.raises(ValueError, match="seed or trial"):
        summarise(planted("group"))
    with pytest.raises(ValueError, match="name one"):
        cell(summarise(planted("seed", "group")))
