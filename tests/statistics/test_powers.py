"""Power against simulation, and its inverses against power."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from hyst_interp.statistics import detectable, power, seeds_for, sign_flip, sign_flip_can_reject

TRIES = 20_000


@pytest.mark.parametrize(("effect", "n", "alpha"), [(0.0, 5, 0.05), (0.1, 5, 0.05), (-0.15, 3, 0.1), (0.1, 12, 0.01)])
def test_power_is_how_often_the_t_test_rejects(effect, n, alpha):
    draws = np.random.default_rng(n).normal(effect, 0.1, size=(TRIES, n))
    rate = float((stats.ttest_1samp(draws, 0, axis=1).pvalue < alpha).mean())
    found = power(effect, 0.1, n, alpha)
    assert abs(rate - found) < 4 * math.sqrt(found * (1 - found) / TRIES)
    # Control: the normal approximation is not within chance at n = 5.
    if (effect, n) == (0.1, 5):
        normal = stats.norm.sf(1.96 - math.sqrt(5))
        assert abs(rate - normal) > 4 * math.sqrt(found * (1 - found) / TRIES)


@pytest.mark.parametrize("n", [2, 3, 5, 12, 100, 1000])
@pytest.mark.parametrize("shift", [0.0, 1.0, 2.8, 6.0])
def test_power_is_that_of_the_noncentral_t(n, shift):
    bound = stats.t.ppf(0.975, n - 1)
    inner = integrate.quad(
        lambda u: (
            stats.norm.sf(bound * math.sqrt(stats.chi2.ppf(u, n - 1) / (n - 1)) - shift)
            + stats.norm.cdf(-bound * math.sqrt(stats.chi2.ppf(u, n - 1) / (n - 1)) - shift)
        ),
        0,
        1,
        limit=200,
    )[0]
    assert power(shift / math.sqrt(n), 1.0, n) == pytest.approx(inner, abs=1e-7)


@pytest.mark.parametrize(("n", "alpha"), [(2, 0.001), (3, 1e-6), (4, 1e-6), (12, 0.01), (1000, 0.05)])
@pytest.mark.parametrize("shift", [0.0, 2.8, 8.9, 20.0, 100.0, 300.0, 1000.0])
def test_power_where_few_values_meet_a_small_alpha(n, alpha, shift):
    # The same probability the other way round: over |Z + shift|, of the sample's deviation lying below its share.
    bound, freedom = stats.t.ppf(1 - alpha / 2, n - 1), n - 1
    reached = integrate.quad(
        lambda value: (
            stats.chi2.cdf(freedom * (value / bound) ** 2, freedom)
            * (stats.norm.pdf(value - shift) + stats.norm.pdf(value + shift))
        ),
        max(0.0, shift - 10),
        shift + 10,
        points=[bound] if abs(bound - shift) < 10 else None,
        epsabs=1e-12,
        limit=500,
    )[0]
    assert power(shift / math.sqrt(n), 1.0, n, alpha) == pytest.approx(reached, abs=1e-10)


@settings(deadline=None, max_examples=50)
@given(st.floats(0.01, 5), st.integers(2, 40), st.floats(0.001, 100))
def test_power_knows_no_unit_and_no_sign_and_grows(effect, n, scale):
    found = power(effect, 1.0, n)
    assert power(-effect * scale, scale, n) == pytest.approx(found, abs=1e-9)
    assert 0.05 - 1e-9 <= found <= power(effect, 1.0, n + 1) + 1e-9
    assert found <= power(1.1 * effect, 1.0, n) + 1e-9


def of_two_values(effect: float, alpha: float) -> float:
    """Power with n = 2 and deviation 1, in closed form.

    The sum and the difference of two values are independent, so that |t| > bound is a double wedge of the plane, and
    the normal probability of a wedge is Owen's T.
    """
    bound = math.tan(math.pi / 2 * (1 - alpha))
    return 1 - 4 * special.owens_t(effect * math.sqrt(2 / (1 + bound**2)), bound)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("effect", [0.0, 0.3, 2.0, 8.2, 20.0, 100.0, 1000.0])
def test_power_of_two_values_in_closed_form(effect, alpha):
    assert power(effect, 1.0, 2, alpha) == pytest.approx(of_two_values(effect, alpha), abs=1e-12)


@pytest.mark.parametrize("wanted", [0.5, 0.9, 0.99])
def test_two_values_detect_only_large_effects(wanted):
    effect = detectable(1.0, 2, wanted)
    assert of_two_values(effect, 0.05) == pytest.approx(wanted, abs=1e-9)
    assert (effect > 10) == (wanted > 0.7)


def test_power_is_one_for_an_effect_without_doubt():
    assert power(1e9, 1.0, 2) == 1
    assert power(50.0, 1.0, 12) == 1


@pytest.mark.parametrize("n", [2, 5, 12, 100])
@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.95])
def test_the_detectable_effect_has_just_the_wanted_power(n, wanted):
    effect = detectable(0.03, n, wanted)
    assert power(effect, 0.03, n) == pytest.approx(wanted, abs=1e-6)
    assert power(0.99 * effect, 0.03, n) < wanted


@pytest.mark.parametrize("effect", [0.2, 0.5, 1.0, 3.0])
def test_the_seeds_are_enough_and_one_fewer_is_not(effect):
    n = seeds_for(effect, 1.0)
    assert n is not None
    assert power(effect, 1.0, n) >= 0.8
    assert n == 2 or power(effect, 1.0, n - 1) < 0.8


def test_no_number_of_seeds_sees_nothing():
    assert seeds_for(0.0, 1.0) is None
    assert seeds_for(0.001, 1.0, most=50) is None


@pytest.mark.parametrize("n", range(1, 9))
def test_what_the_sign_flip_test_can_reject_is_what_it_reaches(n):
    best = sign_flip(np.ones(n)).p
    assert sign_flip_can_reject(n) == (best <= 0.05)


def test_refusals():
    with pytest.raises(ValueError, match="n is 1"):
        power(1.0, 1.0, 1)
    with pytest.raises(ValueError, match="deviation is 0"):
        power(1.0, 0.0, 5)
    with pytest.raises(ValueError, match="deviation is nan"):
        detectable(float("nan"), 5)
    with pytest.raises(ValueError, match="alpha is 5"):
        seeds_for(1.0, 1.0, alpha=5.0)
    with pytest.raises(ValueError, match=r"wanted is 0\.01"):
        detectable(1.0, 5, wanted=0.01)
