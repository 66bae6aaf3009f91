"""Named stretches of planted curves, and the gap by queried key against plain loops."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.questions.gap.gap_phases import phases
from hyst_interp.questions.gap.measure import by_key


def curve(late: list[float], away: int = 3, scatter: float = 0.001) -> xr.DataArray:
    """Two seeds; `away` positions away from p0 (τ = 0), the last of which begins `late`."""
    mean = np.array([5.0] * (away - 1) + late)
    tau = np.array([np.nan, *[0.0] * (away - 1), *(5.0 * np.arange(1, len(late)))])
    position = 10 * np.arange(len(mean))
    values = np.stack([mean + scatter, mean - scatter])
    return xr.DataArray(values, {"seed": [0, 1], "position": position, "tau": ("position", tau)}, ("seed", "position"))


@pytest.mark.parametrize(
    ("late", "names"),
    [
        ([-0.5, -0.1, 0.2, 0.1, -0.06, 0.001], ["lag", "overshoot", "ring-down"]),
        ([-0.5, -0.1, -0.05, 0.001], ["lag"]),
        ([0.3, 0.1, -0.05, 0.001], ["overshoot", "ring-down"]),
        ([0.3, 0.2, 0.1], ["overshoot"]),
        ([-0.5, 0.2, -0.1, 0.1, -0.1], ["lag", "overshoot", "ring-down"]),
        ([-0.5, 0.01, -0.1], ["lag"]),
        ([0.001, -0.002, 0.003], []),
        ([0.0, 0.0], []),
    ],
)
def test_stretches_are_named_by_their_sign_and_order(late, names):
    assert [one.name for one in phases(curve(late), 0.02)] == names


def test_a_phase_knows_where_it_is_and_how_large():
    lag, over, ring = phases(curve([-0.5, -0.1, 0.1, 0.2, -0.06]), 0.02)
    assert [(one.first, one.last, one.extreme) for one in (lag, over, ring)] == [
        (20, 30, 20),
        (40, 50, 50),
        (60, 60, 60),
    ]
    assert over.gap.estimate == pytest.approx(0.2)
    assert over.gap.n == 2


def test_the_sign_reversed_curve_has_other_names():
    """From above in place of from below: an overshoot becomes a lag."""
    found = phases(-curve([-0.5, 0.2, -0.06]), 0.02)
    assert [one.name for one in found] == ["overshoot", "ring-down"]


def test_a_curve_that_never_left_home_starts_at_the_fork():
    still = curve([0.1, 0.2, 0.3])
    still = still.assign_coords(tau=("position", np.full(still.sizes["position"], np.nan)))
    assert [one.first for one in phases(still, 0.02)] == [0]


def test_one_seed_has_phases_without_intervals():
    one = phases(curve([-0.5, 0.2]).isel(seed=[0]), 0.02)
    assert [phase.gap.low for phase in one] == [None, None]


@pytest.mark.parametrize("per_seed", [True, False])
def test_the_gap_by_key_is_a_plain_mean(per_seed):
    random = np.random.default_rng(1)
    margin = random.normal(size=(2, 3, 2, 2, 20))
    query = random.integers(0, 4, (2, 20))
    query[1][query[1] == 3] = 2  # seed 1 never asks key 3
    query[0][:4] = [0, 1, 2, 3]
    if not per_seed:
        query[1] = query[0]
    data = xr.Dataset(
        {"margin": (("seed", "order", "hold", "branch", "trial"), margin)},
        {"seed": [7, 9], "hold": [0, 25], "branch": ["below", "above"]},
    ).assign_coords(query=(("seed", "trial"), query) if per_seed else ("trial", query[0]))
    found = by_key(data).mean("order").transpose("seed", "hold", "key")
    for s, seed in enumerate((7, 9)):
        for h, hold in enumerate((0, 25)):
            for key in range(4):
                here = [i for i in range(20) if query[s, i] == key]
                value = float(found.sel(seed=seed, hold=hold, key=key))
                if not here:
                    assert np.isnan(value)
                    continue
                gaps = [margin[s, o, h, 0, i] - margin[s, o, h, 1, i] for o in range(3) for i in here]
                assert value == pytest.approx(np.mean(gaps))
