"""Variance components against a plain-loop analysis of variance, and against planted truths."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyst_interp.statistics import VarianceComponents, variance_components


def planted(seed: int, shape: tuple[int, int, int], deviations: tuple[float, float, float, float]) -> np.ndarray:
    random = np.random.default_rng(seed)
    s, o, t = shape
    parts = [random.normal(0, d, size) for d, size in zip(deviations, [(s, 1, 1), (s, o, 1), (s, 1, t), shape])]  # noqa: B905
    return 3.0 + sum(parts)


def by_loops(y: np.ndarray) -> dict[str, float]:
    n_s, n_o, n_t = y.shape
    ss_order = ss_trial = ss_rest = 0.0
    for s in range(n_s):
        whole = sum(y[s, o, t] for o in range(n_o) for t in range(n_t)) / (n_o * n_t)
        rows = [sum(y[s, o, t] for t in range(n_t)) / n_t for o in range(n_o)]
        columns = [sum(y[s, o, t] for o in range(n_o)) / n_o for t in range(n_t)]
        for o in range(n_o):
            ss_order += n_t * (rows[o] - whole) ** 2
        for t in range(n_t):
            ss_trial += n_o * (columns[t] - whole) ** 2
        for o in range(n_o):
            for t in range(n_t):
                ss_rest += (y[s, o, t] - rows[o] - columns[t] + whole) ** 2
    grand = y.mean()
    ss_seed = sum(n_o * n_t * (y[s].mean() - grand) ** 2 for s in range(n_s))
    ms = {
        "order": ss_order / (n_s * (n_o - 1)),
        "trial": ss_trial / (n_s * (n_t - 1)),
        "rest": ss_rest / (n_s * (n_o - 1) * (n_t - 1)),
        "seed": ss_seed / (n_s - 1),
    }
    return {
        "rest": ms["rest"],
        "order": (ms["order"] - ms["rest"]) / n_t,
        "trial": (ms["trial"] - ms["rest"]) / n_o,
        # E MS(seed) = o·t·σ²(seed) + t·σ²(order) + o·σ²(trial) + σ²(rest)
        "seed": (ms["seed"] - ms["order"] - ms["trial"] + ms["rest"]) / (n_o * n_t),
    }


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.tuples(st.integers(2, 5), st.integers(2, 4), st.integers(2, 6)))
def test_equals_the_plain_loop_analysis_of_variance(seed, shape):
    values = planted(seed, shape, (1.0, 0.5, 0.3, 0.2))
    found, oracle = variance_components(values), by_loops(values)
    for name, value in oracle.items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-10)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_the_error_as_it_is_is_that_of_the_seeds_means(seed, n_seeds):
    values = planted(seed, (n_seeds, 3, 8), (3.0, 1.0, 1.0, 1.0))
    found = variance_components(values)
    if min(found.seed, found.order, found.trial) < 0:
        return
    plain = values.mean((1, 2)).std(ddof=1) / math.sqrt(n_seeds)
    assert found.purchases()["as it is"] == pytest.approx(plain)


def test_planted_components_are_found_on_average():
    truth = (0.8, 0.5, 1.2, 0.7)
    found = [variance_components(planted(seed, (5, 4, 12), truth)) for seed in range(1500)]
    for name, deviation in zip(("seed", "order", "trial", "rest"), truth, strict=True):
        values = np.array([getattr(one, name) for one in found])
        assert abs(values.mean() - deviation**2) < 4 * values.std() / math.sqrt(len(values)), name
    # Control: the check can fail. Variances of raw means are too large by what the lower levels add.
    raw = np.array([planted(seed, (5, 4, 12), truth).mean((1, 2)).var(ddof=1) for seed in range(1500)])
    assert abs(raw.mean() - 0.64) > 4 * raw.std() / math.sqrt(len(raw))


def test_the_standard_error_foretells_the_scatter_of_other_designs():
    truth = (0.4, 0.8, 2.0, 1.0)
    components = VarianceComponents(*(d**2 for d in truth), 5, 2, 10)
    for design in [(5, 2, 10), (10, 2, 10), (5, 4, 10), (5, 2, 20)]:
        means = np.array([planted(seed, design, truth).mean() for seed in range(2500)])
        assert means.std(ddof=1) == pytest.approx(components.standard_error(*design), rel=4 / math.sqrt(2 * 2500))


def test_what_to_buy_follows_from_where_the_scatter_is():
    for name in ("seed", "order", "trial"):
        only = {"seed": 0.0, "order": 0.0, "trial": 0.0, "rest": 0.0} | {name: 1.0}
        bought = VarianceComponents(**only, n_seeds=5, n_orders=4, n_trials=100).purchases()
        helps = {key for key, error in bought.items() if error < bought["as it is"] * 0.999}
        assert helps == {"seeds", f"{name}s"}, "more seeds always help; of orders and trials only the scattered one"
        assert bought["seeds"] == pytest.approx(bought["as it is"] / math.sqrt(2))


def test_a_negative_component_is_kept_and_counts_as_none():
    crossed = np.zeros((3, 2, 2)) + np.array([[1.0, -1.0], [-1.0, 1.0]])
    found = variance_components(crossed)
    assert found.order < 0 > found.trial
    assert found.standard_error(3, 2, 2) == pytest.approx(math.sqrt((found.seed + found.rest / 4) / 3))


def test_values_without_scatter_have_none():
    found = variance_components(np.full((3, 2, 4), 0.25))
    assert (found.seed, found.order, found.trial, found.rest) == pytest.approx((0, 0, 0, 0))


@pytest.mark.parametrize("shape", [(1, 2, 2), (2, 1, 2), (2, 2, 1)])
def test_too_small_a_design_is_refused(shape):
    with pytest.raises(ValueError, match="at least two seeds"):
        variance_components(np.zeros(shape))


def test_refusals():
    values = np.zeros((2, 2, 2))
    values[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="1 of 8"):
        variance_components(values)
    with pytest.raises(ValueError, match="0 orders"):
        VarianceComponents(1.0, 1.0, 1.0, 1.0, 2, 2, 2).standard_error(2, 0, 2)
