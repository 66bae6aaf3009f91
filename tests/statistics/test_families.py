"""Max-T against brute force, its error rate over a family of dependent components, and what n = 5 forbids."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyst_interp.statistics import max_t, sign_flip


def student(values: np.ndarray) -> np.ndarray:
    mean, spread = values.mean(0), values.std(0, ddof=1)
    return mean / (spread / math.sqrt(len(values)))


def brute_force(values: np.ndarray) -> np.ndarray:
    observed = np.abs(student(values))
    reached = np.zeros(values.shape[1])
    for signs in itertools.product((-1, 1), repeat=len(values)):
        largest = max(abs(t) for t in student(values * np.array(signs)[:, None]))
        reached += largest >= observed * (1 - 1e-9)
    return reached / 2 ** len(values)


def correlated(random: np.random.Generator, tries: int, n: int, components: int) -> np.ndarray:
    return 0.8 * random.normal(size=(tries, n, 1)) + 0.6 * random.normal(size=(tries, n, components))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 5))
def test_equals_brute_force(seed, n, components):
    values = np.random.default_rng(seed).normal(0.3, 1, size=(n, components))
    found = max_t(values)
    np.testing.assert_array_equal(found.p, brute_force(values))
    np.testing.assert_allclose(found.t, student(values))
    assert (found.n, found.smallest) == (n, 2 / 2**n)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 8))
def test_one_component_is_the_sign_flip_test(seed, n):
    # |t| and |mean| order the flips alike, for Σv² is the same in all of them.
    values = np.random.default_rng(seed).normal(0.5, 1, size=n)
    assert max_t(values[:, None]).p[0] == sign_flip(values).p


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.floats(1e-6, 1e6))
def test_units_of_single_components_do_not_matter_and_more_components_cost(seed, scale):
    values = np.random.default_rng(seed).normal(0.5, 1, size=(6, 3))
    found = max_t(values)
    np.testing.assert_array_equal(max_t(values * np.array([scale, 1, -1])).p, found.p)
    assert (found.p >= max_t(values[:, :2]).p[0]).any() or (found.p[:2] >= max_t(values[:, :2]).p).all()
    assert (found.p[:2] >= max_t(values[:, :2]).p).all()


def test_the_familys_error_rate_holds_under_a_correlated_null():
    random, tries, n = np.random.default_rng(11), 1500, 7
    draws = correlated(random, tries, n, 6)
    rate = np.mean([max_t(one).p.min() <= 0.05 for one in draws])
    exact = 6 / 128  # the largest multiple of 2/128 up to 0.05
    assert abs(rate - exact) < 4 * math.sqrt(exact / tries)
    # Control: the check can fail. Unadjusted tests err far more often over the family.
    plain = np.mean([min(sign_flip(column).p for column in one.T) <= 0.05 for one in draws[:400]])
    assert plain > 2 * exact


def test_an_effect_is_found_where_n_allows_and_only_there():
    random = np.random.default_rng(12)
    twelve = random.normal(0, 1, size=(12, 5)) + np.array([5, 0, 0, 0, 0])
    found = max_t(twelve)
    assert found.p[0] == found.smallest == 2 / 2**12
    assert (found.p[1:] > 0.05).all()
    assert not found.powerless()


def test_five_seeds_are_powerless_whatever_the_data():
    certain = np.ones((5, 3)) + 1e-9 * np.arange(15).reshape(5, 3)
    found = max_t(certain)
    assert found.powerless()
    assert found.p.min() == found.smallest == 0.0625
    assert not max_t(np.ones((6, 1))).powerless()


def test_no_spread_and_no_effect():
    values = np.stack([np.full(5, 0.1), np.zeros(5), np.array([0.1, -0.1, 0.2, -0.2, 0.0])], axis=1)
    found = max_t(values)
    assert np.isinf(found.t[0])
    assert list(found.t[1:]) == pytest.approx([0, 0], abs=1e-12)
    assert list(found.p) == [0.0625, 1.0, 1.0]


def test_refusals():
    with pytest.raises(ValueError, match=r"\(1, 3\)"):
        max_t(np.ones((1, 3)))
    with pytest.raises(ValueError, match="18"):
        max_t(np.ones((19, 1)))
    with pytest.raises(ValueError, match="1 of 4"):
        max_t(np.array([[1.0, np.nan], [1.0, 2.0]]))
