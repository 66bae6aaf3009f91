"""What scatters, what to buy, what could be seen: against the statistics that it is made of, on planted runs."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.questions.gap.variance import SIZES, families, spreads
from hyst_interp.statistics import max_t, power, variance_components

BRANCHES = ["below", "above"]


def behaviour(deviations: dict[str, float], shape=(6, 3, 40), seed=0) -> xr.Dataset:
    """Margins (seed, order, hold, branch, trial) whose gap scatters as told at hold 0, and half as much at hold 25."""
    random = np.random.default_rng(seed)
    s, o, t = shape
    sizes = {"seed": (s, 1, 1), "order": (s, o, 1), "trial": (s, 1, t), "rest": shape}
    gap = 0.3 + sum(random.normal(0, deviations.get(name, 0.0), size) for name, size in sizes.items()) + np.zeros(shape)
    both = np.stack([gap, gap / 2], axis=2)
    margin = np.stack([both / 2, -both / 2], axis=3)
    coords = {"seed": range(s), "order": range(o), "hold": [0, 25], "branch": BRANCHES}
    return xr.Dataset({"margin": (("seed", "order", "hold", "branch", "trial"), margin)}, coords)


def test_each_hold_is_the_variance_components_of_its_gap():
    data = behaviour({"seed": 0.1, "order": 0.05, "trial": 1.0, "rest": 0.3})
    first, later = spreads(data)
    margin = data["margin"].values
    expected = variance_components(margin[:, :, 0, 0] - margin[:, :, 0, 1])
    assert first.components.seed == pytest.approx(expected.seed)
    assert later.components.rest == pytest.approx(expected.rest / 4)
    assert (first.hold, later.hold) == (0, 25)
    assert first.gap.estimate == pytest.approx(float((margin[:, :, 0, 0] - margin[:, :, 0, 1]).mean()))


def test_power_is_at_the_runs_own_n_and_deviation():
    one = spreads(behaviour({"seed": 0.05}))[0]
    assert one.deviation == pytest.approx(0.05, rel=0.6)
    for size in SIZES:
        assert one.power[size] == pytest.approx(power(size, one.deviation, 6))
        n = one.seeds_for[size]
        assert n is not None
        assert power(size, one.deviation, n) >= 0.8
    assert power(one.detectable, one.deviation, 6) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize(("where", "bought"), [("seed", "seeds"), ("order", "orders"), ("trial", "trials")])
def test_what_to_buy_is_where_the_scatter_is(where, bought):
    assert spreads(behaviour({where: 0.5, "rest": 0.01}, shape=(12, 6, 60)))[0].buy == bought


def test_one_order_has_no_components_and_one_seed_no_power():
    data = behaviour({"seed": 0.1, "trial": 0.5})
    one_order = spreads(data.isel(order=[0]))[0]
    assert one_order.components is one_order.buy is None
    assert one_order.detectable > 0
    one_seed = spreads(data.isel(seed=[0]))[0]
    assert one_seed.components is one_seed.deviation is one_seed.detectable is None
    assert one_seed.power == {}


def test_no_scatter_has_no_power_and_nothing_to_buy():
    one = spreads(behaviour({}))[0]
    assert one.deviation is None
    assert one.buy is None


def attenuation(n_seeds: int) -> xr.Dataset:
    random = np.random.default_rng(3)
    names = ["L0H0", "L1MLP", "heads", "L0H0+L1MLP", "L0H0"]
    references = ["own-mean", "own-mean", "own-mean", "own-mean", "donor"]
    margin = random.normal(0, 1, (n_seeds, 2, 2, 30))
    after = margin[:, :, None] * 0.5 + random.normal(0, 0.2, (n_seeds, 2, len(names), 2, 30))
    return xr.Dataset(
        {
            "margin": (("seed", "order", "branch", "trial"), margin),
            "margin_after": (("seed", "order", "row", "branch", "trial"), after),
        },
        {"seed": range(n_seeds), "branch": BRANCHES, "components": ("row", names), "reference": ("row", references)},
    )


def test_families_are_single_components_a_reference():
    found = attenuation(6)
    own, donor = families(found)
    assert (own.components, donor.components) == (("L0H0", "L1MLP"), ("L0H0",))
    margin, after = found["margin"].values, found["margin_after"].values
    moved = (margin[:, :, 0] - margin[:, :, 1])[:, :, None] - (after[:, :, :2, 0] - after[:, :, :2, 1])
    expected = max_t(moved.mean((1, 3)))
    np.testing.assert_allclose(own.tests.t, expected.t)
    np.testing.assert_array_equal(own.tests.p, expected.p)


def test_families_at_five_seeds_are_powerless_and_one_seed_has_none():
    assert all(one.tests.powerless() for one in families(attenuation(5)))
    assert families(attenuation(1)) == []
    assert families(attenuation(19)) == []
