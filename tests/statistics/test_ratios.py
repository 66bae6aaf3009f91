"""Fieller's set against the t test that defines it, on a grid of ratios."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hyst_interp.statistics import fieller, ratio_of_means

GRID = np.concatenate([np.linspace(-60, 60, 481), np.geomspace(61, 1e5, 30), -np.geomspace(61, 1e5, 30)])


def kept(numerators: np.ndarray, denominators: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    return stats.ttest_1samp(numerators - ratios[:, None] * denominators, 0, axis=1).pvalue >= 0.05


def pairs(seed: int, mean_top: float, mean_bottom: float, n: int = 5) -> tuple[np.ndarray, np.ndarray]:
    noise = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=n)
    return noise[:, 0] + mean_top, noise[:, 1] + mean_bottom


@pytest.mark.parametrize(
    ("mean_top", "mean_bottom", "shapes"),
    [(3, 8, {"interval"}), (8, 0, {"complement", "interval"}), (0, 0, {"unbounded", "complement", "interval"})],
)
def test_the_set_is_what_the_t_test_keeps(mean_top, mean_bottom, shapes):
    seen = set()
    for seed in range(12):
        top, bottom = pairs(seed, mean_top, mean_bottom)
        found = fieller(top, bottom)
        seen.add(found.shape)
        assert [found.contains(float(ratio)) for ratio in GRID] == list(kept(top, bottom, GRID))
        assert found.contains(found.estimate)
    assert seen <= shapes
    assert max(shapes, key=["interval", "complement", "unbounded"].index) in seen


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10**6), st.floats(-4, 4), st.floats(-4, 4), st.integers(2, 8))
def test_ends_are_where_the_t_test_turns(seed, mean_top, mean_bottom, n):
    top, bottom = pairs(seed, mean_top, mean_bottom, n)
    found = fieller(top, bottom)
    if found.shape == "unbounded":
        return
    for end in (found.low, found.high):
        if abs(end) < 1e4:
            assert stats.ttest_1samp(top - end * bottom, 0).pvalue == pytest.approx(0.05, rel=1e-3)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 8.0]), st.floats(1e-150, 1e150), st.data())
def test_units_order_and_common_sign_do_not_matter(seed, mean_bottom, scale, data):
    top, bottom = pairs(seed, 3, mean_bottom)
    order = data.draw(st.permutations(range(5)))
    found, other = fieller(top, bottom), fieller(-scale * top[order], -scale * bottom[order])
    assert other.shape == found.shape
    if found.low is not None:
        assert (other.low, other.high) == pytest.approx((found.low, found.high), rel=1e-6, abs=1e-9)


def test_an_exact_denominator_leaves_student_t():
    from hyst_interp.statistics import student_t

    top = np.array([1.0, 2.0, 4.0, 3.0, 7.0])
    found, plain = fieller(top, np.full(5, 2.0)), student_t(top / 2, "ratio")
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


def test_proportional_pairs_give_their_ratio_or_nothing_rejected():
    bottom = np.array([0.9, 1.0, 1.1, 1.3, 0.8])
    found = ratio_of_means(1.7 * bottom, bottom)
    assert (found.low, found.high) == pytest.approx((1.7, 1.7), abs=1e-6)
    assert fieller(1.7 * (bottom - 1), bottom - 1).shape == "unbounded"


def test_nothing_is_clipped():
    found = ratio_of_means(*pairs(1, 60, 20))
    assert found.low > 1
    assert ratio_of_means(*pairs(1, -60, 20)).high < 0


def test_coverage_counting_all_shapes():
    draws = np.random.default_rng(4).multivariate_normal([1, 2], [[1, 0.5], [0.5, 2]], size=(3000, 5))
    found = [fieller(draw[:, 0], draw[:, 1]) for draw in draws]
    share = np.mean([one.contains(0.5) for one in found])
    assert abs(share - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 3000)
    assert {one.shape for one in found} == {"interval", "complement", "unbounded"}
    # Control: bounded sets alone are a selection, and a wrong ratio is not covered at this rate.
    assert np.mean([one.contains(5.0) for one in found]) < 0.9


def test_a_denominator_that_may_be_zero_is_undefined_with_its_reason():
    top, bottom = np.array([1.0, 2.0, 1.5, 0.5, 1.0]), np.array([0.3, -0.2, 0.1, -0.4, 0.25])
    found = ratio_of_means(top, bottom)
    assert found.estimate is found.low is found.high is None
    assert "denominator may be 0" in found.reason
    assert fieller(top, bottom).shape == "complement"


@settings(deadline=None)
@given(st.integers(0, 10**6), st.floats(-3, 3))
def test_undefined_just_when_the_denominators_t_test_keeps_zero(seed, mean_bottom):
    top, bottom = pairs(seed, 1, mean_bottom)
    found = ratio_of_means(top, bottom)
    p = stats.ttest_1samp(bottom, 0).pvalue
    if abs(p - 0.05) > 1e-6:
        assert (found.estimate is None) == (p > 0.05)


def test_zeros():
    zeros, ones = np.zeros(5), np.array([1.0, 1.1, 0.9, 1.2, 1.0])
    for top in (zeros, ones):
        assert fieller(top, zeros).estimate is None
        assert fieller(top, zeros).reason == "all denominators are 0"
        assert ratio_of_means(top, zeros).estimate is None
    nothing_moved = ratio_of_means(zeros, ones)
    assert (nothing_moved.estimate, nothing_moved.low, nothing_moved.high) == (0, 0, 0)
    balanced = fieller(np.array([5.0, 5.1]), np.array([1.0, -1.0]))
    assert balanced.estimate is None
    assert balanced.reason == "the mean denominator is exactly 0"


def test_too_few_pairs():
    one = fieller(np.array([1.0]), np.array([2.0]))
    assert (one.estimate, one.low) == (0.5, None)
    assert ratio_of_means(np.array([1.0]), np.array([2.0])).reason
    assert ratio_of_means(np.array([]), np.array([])).reason == "no values"


def test_over_trials_says_what_it_is_worth():
    top, bottom = pairs(1, 3, 8)
    assert "these two networks only" in ratio_of_means(top, bottom, over="trials").method
    assert ratio_of_means(top, bottom).method.endswith("over seeds")


def test_refusals():
    with pytest.raises(ValueError, match="2 numerators and 3 denominators"):
        ratio_of_means([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="denominators holds 1 of 2"):
        fieller(np.array([1.0, 2.0]), np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="level"):
        fieller(np.array([1.0, 2.0]), np.array([1.0, 2.0]), level=1.0)
