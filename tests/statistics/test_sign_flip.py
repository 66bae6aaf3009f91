"""The sign-flip test against plain enumeration, its invariances, and its error rate."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hyst_interp.statistics import sign_flip

whole = st.lists(st.integers(-20, 20), min_size=1, max_size=10)


def by_hand(values: list[int]) -> Fraction:
    observed = abs(sum(values))
    patterns = list(itertools.product((-1, 1), repeat=len(values)))
    extreme = sum(abs(sum(s * v for s, v in zip(signs, values, strict=True))) >= observed for signs in patterns)
    return Fraction(extreme, len(patterns))


@settings(deadline=None)
@given(whole)
def test_equals_enumeration_in_whole_numbers(values):
    found = sign_flip(np.array(values, dtype=float))
    assert Fraction(found.p) == by_hand(values)
    assert found.smallest == 2 / 2 ** len(values)
    assert found.statistic == pytest.approx(np.mean(values), abs=1e-12)
    assert found.n == len(values)


@settings(deadline=None)
@given(whole, st.floats(1e-200, 1e200))
def test_rounding_does_not_change_ties(values, scale):
    # v · scale is no longer exact: many sums that tie in whole numbers now differ in their last bits.
    assert Fraction(sign_flip(np.array(values) * scale).p) == by_hand(values)


@settings(deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=2, max_size=8))
def test_decimals_that_sum_to_nothing_have_p_one(values):
    # Every signing reaches a mean of 0; in binary the sum is some 1e-16, which no tolerance relative to it forgives.
    assert sign_flip(np.array([*values, -sum(values)]) * 0.1).p == 1


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 10))
def test_is_the_library_s_permutation_test_where_nothing_ties(seed, n):
    values = np.random.default_rng(seed).normal(0.5, 1.0, n)
    library = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(values).p == pytest.approx(library.pvalue, abs=1e-12)


@settings(deadline=None)
@given(st.data(), whole)
def test_order_and_common_sign_do_not_matter(data, values):
    p = sign_flip(np.array(values) / 7).p
    assert sign_flip(-np.array(values) / 7).p == p
    assert sign_flip(np.array(data.draw(st.permutations(values))) / 7).p == p


def test_five_of_one_sign_reach_the_smallest_p_and_no_less():
    found = sign_flip(np.array([0.3, 0.1, 0.2, 0.7, 0.05]))
    assert found.p == found.smallest == 0.0625


def test_zeros_keep_their_place():
    assert sign_flip(np.zeros(5)).p == 1
    assert sign_flip(np.array([1.0, 0.0])).p == 1
    assert sign_flip(np.array([1.0, 2.0, 0.0])).p == sign_flip(np.array([1.0, 2.0])).p == 0.5


def test_decimals_that_tie():
    # 0.1 + 0.2 > 0.3 in binary; as decimals the four signings with |sum| 0 all count.
    assert sign_flip(np.array([0.1, 0.2, -0.3])).p == 1


def test_chunks_change_nothing():
    # 20 ones: p is the two-sided binomial tail, in closed form. 20 > 17 uses the outer loop.
    values = np.array([1.0] * 15 + [-1.0] * 5)
    assert sign_flip(values).p == pytest.approx(stats.binomtest(15, 20).pvalue, rel=1e-12)
    assert sign_flip(np.ones(24)).p == sign_flip(np.ones(24)).smallest


def test_error_rate_without_an_effect_is_at_most_alpha_and_an_effect_is_found():
    generator = np.random.default_rng(1)
    null = generator.standard_t(2, size=(3000, 8))
    rate = np.mean([sign_flip(row).p <= 0.05 for row in null])
    exact = 12 / 256  # the largest multiple of 2/256 up to 0.05
    assert abs(rate - exact) < 4 * np.sqrt(exact / 3000)
    assert np.mean([sign_flip(row + 10).p <= 0.05 for row in generator.normal(size=(200, 8))]) == 1


def test_refusals():
    with pytest.raises(ValueError, match=r"25 values.*student_t"):
        sign_flip(np.ones(25))
    with pytest.raises(ValueError, match="empty"):
        sign_flip(np.array([]))
    with pytest.raises(ValueError, match="2 of 3"):
        sign_flip(np.array([1.0, np.nan, np.inf]))
    with pytest.raises((ValueError, TypeError)):
        sign_flip(np.ones((2, 2)))
