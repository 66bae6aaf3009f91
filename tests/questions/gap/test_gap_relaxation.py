"""Relaxation on planted curves: seeds' values, the peak after the last step away, and whether the gap has gone."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.summary import per_seed, records, summarise
from hyst_interp.questions.gap.relaxation import equivalence_margin, gap_curve, peak, relaxed
from hyst_interp.statistics import student_t

NAN = float("nan")


def curve(values, tau) -> xr.DataArray:
    """A curve (seed, position) with its τ; positions are 10, 11, …"""
    values = np.atleast_2d(np.asarray(values, dtype=np.float64))
    coords = {"position": 10 + np.arange(values.shape[1]), "tau": ("position", np.asarray(tau, dtype=np.float64))}
    return xr.DataArray(values, dims=("seed", "position"), coords=coords)


def test_a_seeds_value_is_its_mean_over_trials_and_then_over_orders():
    values = np.random.default_rng(0).normal(size=(3, 4, 2, 5))
    found = per_seed(xr.DataArray(values, dims=("seed", "order", "hold", "trial")))
    assert found.dims == ("seed", "hold")
    for seed in range(3):
        for hold in range(2):
            orders = [sum(values[seed, order, hold]) / 5 for order in range(4)]
            assert float(found[seed, hold]) == pytest.approx(sum(orders) / 4)


@pytest.mark.parametrize("dims", [("seed",), ("seed", "trial"), ("seed", "order"), ("seed", "position")])
def test_dimensions_that_are_not_there_are_not_missed(dims):
    values = np.arange(6.0).reshape((6,) if len(dims) == 1 else (2, 3))
    found = per_seed(xr.DataArray(values, dims=dims))
    kept = values if dims[-1] in ("seed", "position") else values.mean(1)
    assert (found.values == kept).all()


def test_gap_curve_equals_a_plain_loop():
    margins = np.random.default_rng(1).normal(size=(2, 3, 2, 4, 5)).astype(np.float32)
    trajectory = xr.Dataset(
        {"margin": (("seed", "order", "branch", "position", "trial"), margins)},
        coords={"branch": ["below", "above"], "position": [0, 5, 10, 12], "tau": ("position", [NAN, 0.0, 5.0, 7.0])},
    )
    found = gap_curve(trajectory)
    assert found["tau"].dims == ("position",)
    for seed in range(2):
        for position in range(4):
            total = 0.0
            for order in range(3):
                for trial in range(5):
                    below, above = margins[seed, order, :, position, trial].astype(float)
                    total += below - above
            assert float(found.isel(seed=seed, position=position)) == pytest.approx(total / 15)


def test_peak_is_the_largest_absolute_mean_gap_of_the_last_stretch():
    tau = [NAN, 0, 1, 2, 0, 0, 1, 2, 3]
    found = peak(curve([9, 9, 9, 9, 9, 9, 0.1, -0.3, 0.2], tau))
    assert (found.position, found.tau) == (17, 2)
    assert found.gap == pytest.approx(-0.3)


def test_peak_is_of_the_mean_over_seeds_and_not_the_largest_of_a_seed():
    found = peak(curve([[5.0, 1.0, 0.0], [-5.0, 1.0, 0.5]], [1, 2, 3]))
    assert (found.position, found.gap) == (11, 1.0)


def test_peak_of_a_curve_that_never_left():
    assert peak(curve([0.2, 0.5], [1, 2])).gap == 0.5


def test_peak_needs_a_position_after_the_last_step_away():
    with pytest.raises(ValueError, match="τ ≥ 1"):
        peak(curve([1.0, 2.0], [5, 0]))


def test_peak_of_a_study_that_never_left_p0_is_over_the_whole_curve():
    found = peak(curve([1.0, -2.0, 0.5], [NAN, NAN, NAN]))
    assert (found.gap, found.tau) == (-2.0, None)


@pytest.mark.parametrize(
    ("largest", "margin"), [(0.05, 0.01), (-0.05, 0.01), (0.1, 0.02), (0.4, 0.02), (-7.0, 0.02), (0.0, 0.0)]
)
def test_equivalence_margin_is_the_smaller_of_two_hundredths_and_a_fifth_of_the_peak(largest, margin):
    assert equivalence_margin(largest) == pytest.approx(margin)


@pytest.mark.parametrize(
    ("values", "largest", "verdict"),
    [
        ([0.001, -0.001, 0.002, 0.0, -0.002], 0.4, "equivalent"),
        ([0.101, 0.099, 0.102, 0.1, 0.098], 0.4, "different"),
        ([-0.101, -0.099, -0.102, -0.1, -0.098], 0.4, "different"),
        ([0.3, -0.3, 0.2, -0.1, 0.05], 0.4, "undetermined"),
        ([0.001, -0.001, 0.002, 0.0, -0.002], 0.004, "undetermined"),
        ([0.012, 0.012, 0.012, 0.012, 0.0121], 0.4, "equivalent"),
        ([0.012, 0.012, 0.012, 0.012, 0.0121], 0.05, "different"),
        ([0.001], 0.4, "undetermined"),
    ],
)
def test_relaxed_is_an_equivalence_test_with_the_margin_of_the_peak(values, largest, verdict):
    found = relaxed(np.array(values), largest)
    assert found.verdict == verdict
    assert found.margin == pytest.approx(equivalence_margin(largest))


def test_a_peak_of_zero_still_gives_a_margin_above_zero():
    assert relaxed(np.zeros(3), 0.0).margin > 0


def test_a_curve_is_student_t_over_seeds_at_every_position():
    values = np.random.default_rng(2).normal(size=(5, 3))
    found = [row["estimate"] for row in records(summarise(curve(values, [1, 2, 3]), "logits"))]
    assert found == [student_t(values[:, i], "logits") for i in range(3)]
