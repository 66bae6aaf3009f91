"""Intervals: closed forms, invariances, and the share of times that they hold the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hyst_interp.statistics import binomial, fisher_mean, min_max, over_trials, student_t

samples = st.lists(st.integers(-1000, 1000), min_size=2, max_size=12).map(lambda v: np.array(v) / 8)


def within_chance(share: float, truth: float, tries: int) -> bool:
    return abs(share - truth) < 4 * math.sqrt(truth * (1 - truth) / tries)


@given(samples, st.sampled_from([0.5, 0.9, 0.95]))
def test_student_t_is_the_set_of_means_that_a_t_test_keeps(values, level):
    found = student_t(values, "logits", level)
    assert found.estimate == pytest.approx(values.mean())
    if np.ptp(values) == 0:
        assert found.low == found.high == found.estimate
        return
    for end in (found.low, found.high):
        assert stats.ttest_1samp(values, end).pvalue == pytest.approx(1 - level, rel=1e-6)


def test_student_t_in_numbers_of_the_tables():
    # t(0.975; 4) = 2.776 stands in every table; the s of 1 … 5 is √2.5.
    assert student_t(np.arange(1.0, 6.0), "logits").half_width == pytest.approx(2.776 * math.sqrt(2.5 / 5), rel=1e-3)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_student_t_of_two_and_three_values_in_closed_form(level):
    # The t distributions with one and two degrees of freedom have elementary quantiles.
    two, three = (
        student_t(np.array([-3.0, 5.0]), "logits", level),
        student_t(np.array([-1.0, 0.0, 4.0]), "logits", level),
    )
    assert two.half_width == pytest.approx(math.tan(math.pi * level / 2) * 4, rel=1e-12)
    assert three.half_width == pytest.approx(level * math.sqrt(2 / (1 - level**2)) * math.sqrt(7 / 3), rel=1e-12)


@given(samples.filter(lambda v: np.ptp(v) > 0), st.sampled_from([0.5, 0.9, 0.95]))
def test_student_t_is_the_interval_of_the_library_s_own_t_test(values, level):
    interval, library = student_t(values, "logits", level), stats.ttest_1samp(values, 0).confidence_interval(level)
    assert (interval.low, interval.high) == pytest.approx((library.low, library.high), rel=1e-12, abs=1e-12)


@given(samples, st.floats(-10, 10).filter(lambda k: abs(k) > 1e-3), st.floats(-10, 10))
def test_student_t_follows_a_change_of_unit(values, scale, shift):
    before, after = student_t(values, "a"), student_t(values * scale + shift, "b")
    ends = sorted((before.low * scale + shift, before.high * scale + shift))
    assert (after.low, after.high) == pytest.approx(tuple(ends), abs=1e-6)


def test_student_t_coverage_at_five_seeds():
    draws = np.random.default_rng(2).normal(3.0, 2.0, size=(4000, 5))
    share = np.mean([student_t(row, "logits").contains(3.0) for row in draws])
    assert within_chance(share, 0.95, 4000)
    # Control: the check can fail. A normal quantile in place of t covers about 88 %.
    normal = np.abs(draws.mean(1) - 3) < 1.96 * draws.std(1, ddof=1) / math.sqrt(5)
    assert not within_chance(float(normal.mean()), 0.95, 4000)


def test_over_trials_is_student_t_that_says_what_it_is_worth():
    values = np.array([0.1, 0.4, 0.2])
    trials, seeds = over_trials(values, "logits"), student_t(values, "logits")
    assert (trials.low, trials.high, trials.n) == (seeds.low, seeds.high, 3)
    assert "these two networks only" in trials.method
    assert "these two networks" not in seeds.method


def test_min_max_is_the_range_at_the_level_that_n_allows():
    found = min_max(np.array([3.0, -1.0, 2.0, 5.0, 0.0]), "logits")
    assert (found.estimate, found.low, found.high, found.level) == (2.0, -1.0, 5.0, 0.9375)


@pytest.mark.parametrize("n", [2, 5])
def test_min_max_covers_the_median_of_a_skewed_law_exactly(n):
    draws = np.random.default_rng(3).exponential(size=(4000, n))
    found = [min_max(row, "logits") for row in draws]
    assert within_chance(np.mean([one.contains(math.log(2)) for one in found]), found[0].level, 4000)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (1, 5), (3, 5), (5, 5), (17, 40)])
def test_binomial_ends_solve_their_equations(successes, n):
    found = binomial(successes, n, level=0.9)
    assert found.estimate == successes / n
    if successes:
        assert stats.binom.sf(successes - 1, n, found.low) == pytest.approx(0.05)
    else:
        assert found.low == 0
        assert found.high == pytest.approx(1 - 0.05 ** (1 / n))
    if successes < n:
        assert stats.binom.cdf(successes, n, found.high) == pytest.approx(0.05)
    else:
        assert found.high == 1


def share_by_bisection(successes: int, n: int, tail: float) -> float:
    """The share at which `successes` or more of n have probability `tail`, summed term by term."""
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        terms = (math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(successes, n + 1))
        low, high = (share, high) if math.fsum(terms) < tail else (low, share)
    return low


@pytest.mark.parametrize("n", [1, 2, 5, 12, 20])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_binomial_ends_are_those_of_plain_sums_and_of_beta_quantiles(n, level):
    tail = (1 - level) / 2
    for successes in range(n + 1):
        interval = binomial(successes, n, level)
        low = share_by_bisection(successes, n, tail) if successes else 0.0
        high = 1 - share_by_bisection(n - successes, n, tail) if successes < n else 1.0
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=2e-12, rel=0)
        beta_low = stats.beta.ppf(tail, successes, n - successes + 1) if successes else 0.0
        beta_high = stats.beta.isf(tail, successes + 1, n - successes) if successes < n else 1.0
        assert (interval.low, interval.high) == pytest.approx((beta_low, beta_high), abs=1e-12, rel=0)


@pytest.mark.parametrize("n", [1, 5, 12])
def test_binomial_covers_every_share_by_enumeration(n):
    found = [binomial(k, n) for k in range(n + 1)]
    for share in np.linspace(0, 1, 201):
        covered = sum(stats.binom.pmf(k, n, share) for k in range(n + 1) if found[k].contains(float(share)))
        assert covered >= 0.95 - 1e-12


@given(st.integers(1, 60), st.data())
def test_binomial_is_symmetric(n, data):
    k = data.draw(st.integers(0, n))
    found, mirrored = binomial(k, n), binomial(n - k, n)
    assert found.low == pytest.approx(1 - mirrored.high, abs=1e-9)


@given(st.lists(st.floats(-0.99, 0.99), min_size=2, max_size=8))
def test_fisher_mean_stays_between_minus_one_and_one_and_is_odd(values):
    found, mirrored = fisher_mean(np.array(values)), fisher_mean(-np.array(values))
    assert -1 <= found.low <= found.estimate <= found.high <= 1
    assert (found.estimate, found.low) == pytest.approx((-mirrored.estimate, -mirrored.high), abs=1e-9)


def test_fisher_mean_closed_form():
    z = np.array([0.5, 1.0, 1.5])
    found, plain = fisher_mean(np.tanh(z)), student_t(z, "z")
    assert (found.estimate, found.low) == pytest.approx((math.tanh(1.0), math.tanh(plain.low)))


def test_fisher_mean_survives_perfect_correlation_and_says_how():
    found = fisher_mean(np.array([1.0, 1.0, -1.0 - 1e-12, 0.5]))
    assert -1 <= found.low < found.high <= 1
    assert "clipped" in found.method
    assert fisher_mean(np.ones(5)).estimate == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("interval", [student_t, over_trials, min_max, lambda values, _: fisher_mean(values)])
def test_too_few_values_give_no_interval_but_a_reason(interval):
    one, none = interval(np.array([0.5]), "logits"), interval(np.array([]), "logits")
    assert one.estimate == pytest.approx(0.5)
    assert one.low is one.high is none.estimate is None
    assert one.reason
    assert none.reason
    assert (one.n, none.n) == (1, 0)


def test_no_tries_give_no_share():
    assert binomial(0, 0).estimate is None


def test_refusals():
    for interval in (student_t, over_trials, min_max):
        with pytest.raises(ValueError, match="values holds 2 of 3"):
            interval(np.array([np.nan, 1.0, np.nan]), "logits")
    with pytest.raises(ValueError, match="correlations holds 1 of 2"):
        fisher_mean(np.array([np.nan, 0.1]))
    with pytest.raises(ValueError, match="beyond"):
        fisher_mean(np.array([1.5, 0.1]))
    with pytest.raises(ValueError, match="level"):
        student_t(np.array([1.0, 2.0]), "logits", level=95.0)
    for successes in (6, -1):
        with pytest.raises(ValueError, match=f"successes={successes}"):
            binomial(successes, 5)
