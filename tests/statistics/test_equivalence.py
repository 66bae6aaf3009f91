"""Two one-sided tests against scipy's, and both error rates."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hyst_interp.statistics import equivalence

samples = st.lists(st.integers(-40, 40), min_size=2, max_size=9).map(lambda v: np.array(v) / 16)
margins = st.floats(0.01, 3)


@given(samples.filter(lambda v: np.ptp(v) > 0), margins)
def test_p_is_the_larger_of_two_one_sided_t_tests(values, margin):
    found = equivalence(values, margin)
    above = stats.ttest_1samp(values, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(values, margin, alternative="less").pvalue
    assert found.p == pytest.approx(max(above, below), rel=1e-9, abs=1e-12)


@given(samples, margins)
def test_the_verdict_is_read_off_the_interval(values, margin):
    found = equivalence(values, margin)
    low, high = found.interval.low, found.interval.high
    if min(abs(abs(low) - margin), abs(abs(high) - margin)) < 1e-9:
        return
    if -margin < low and high < margin:
        assert found.verdict == "equivalent"
    elif low > margin or high < -margin:
        assert found.verdict == "different"
    else:
        assert found.verdict == "undetermined"
    assert found.interval.level == pytest.approx(0.9)


@given(samples, margins)
def test_sign_does_not_matter(values, margin):
    found, mirrored = equivalence(values, margin), equivalence(-values, margin)
    assert (found.verdict, found.p) == (mirrored.verdict, pytest.approx(mirrored.p))


def test_false_claims_of_equivalence_at_the_margin_are_alpha_and_true_ones_are_found():
    generator = np.random.default_rng(5)
    noise = generator.normal(0, 0.2, size=(4000, 5))
    for truth in (1.0, -1.0):
        rate = np.mean([equivalence(row + truth, 1.0).verdict == "equivalent" for row in noise])
        assert abs(rate - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 4000)
    assert np.mean([equivalence(row, 1.0).verdict == "equivalent" for row in noise]) > 0.99
    assert np.mean([equivalence(row + 3, 1.0).verdict == "different" for row in noise]) > 0.99


def test_noise_alone_is_never_called_equivalent():
    values = np.array([-3.0, 4.0, -1.0, 2.0, -2.5])
    assert stats.ttest_1samp(values, 0).pvalue > 0.5
    assert equivalence(values, 0.02).verdict == "undetermined"


@pytest.mark.parametrize(
    ("value", "verdict", "p"), [(0.0, "equivalent", 0), (0.5, "undetermined", 0.5), (0.75, "different", 1)]
)
def test_without_spread_the_values_are_taken_at_their_word(value, verdict, p):
    found = equivalence(np.full(5, value), 0.5)
    assert (found.verdict, found.p) == (verdict, p)


def test_too_few_values_are_undetermined_and_json_says_why():
    for values in (np.array([]), np.array([0.0])):
        found = equivalence(values, 0.5)
        assert (found.verdict, found.p) == ("undetermined", None)
        entry = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert entry["interval"]["reason"]


@pytest.mark.parametrize("margin", [0.0, -1.0, np.nan, np.inf])
def test_a_margin_must_be_positive(margin):
    with pytest.raises(ValueError, match="margin"):
        equivalence(np.array([1.0, 2.0]), margin)


def test_refusals():
    with pytest.raises(ValueError, match="alpha"):
        equivalence(np.array([1.0, 2.0]), 1.0, alpha=0.5)
    with pytest.raises(ValueError, match="values holds 1 of 2"):
        equivalence(np.array([1.0, np.nan]), 1.0)
