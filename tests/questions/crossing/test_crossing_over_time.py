"""Mechanism beside behaviour: the donors of the attenuation at every stop, and verdicts on planted relaxations."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.questions.attenuation import measure as attenuating
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.questions.crossing.crossing_over_time import Stop, mechanism_course, mechanism_values
from hyst_interp.questions.crossing.measure import crossed, crossing
from hyst_interp.questions.crossing.over_time_summary import (
    TOGETHER,
    mechanism_arrays,
    mechanism_rows,
    rooted,
    verdict,
)
from hyst_interp.statistics import Estimate, over_trials, ratio_of_means

STREAMS = ["resid_pre 0", "resid_pre 1", "resid_post"]


@pytest.fixture(scope="module")
def pair(small_pair):
    """30 trials of the small pair."""
    return replace(small_pair, trials=small_pair.trials.take(slice(0, 30)))


@pytest.fixture(scope="module")
def course(pair):
    """At arrival the small pair, then anchor against from above, then one network twice."""
    middle = replace(pair, below=pair.anchor)
    gone = replace(pair, below=pair.above)
    return mechanism_course(Stop(at, tau, one) for at, tau, one in ((10, None, pair), (20, 5, middle), (30, 15, gone)))


def test_sets_are_the_donors_of_the_attenuation_and_streams_the_cells_of_the_crossing(pair, course):
    values = mechanism_values(course).sel(position=10)
    rows = attenuation(pair, {"donor": pair.sets("heads,mlps,all")})
    moved = attenuating.logits_moved(rows)
    for index, name in enumerate(("heads", "mlps", "all")):
        for mine in ("into_below", "into_above", "moved"):
            np.testing.assert_allclose(values[mine].sel(mechanism=name), moved[mine].isel(row=index), rtol=0, atol=1e-5)
    cells = crossed(crossing(pair, "resid_pre")).sel(role="query")
    for layer, name in enumerate(STREAMS):
        np.testing.assert_allclose(
            values["moved"].sel(mechanism=name), cells["moved"].sel(layer=layer), rtol=0, atol=1e-5
        )
    np.testing.assert_allclose(values["gap"], moved["gap"], rtol=0, atol=1e-5)


def test_one_network_twice_has_nothing_left_exactly(course):
    values = mechanism_values(course).sel(position=30)
    assert all((one == 0).all() for one in values.data_vars.values())
    rows = [row for row in mechanism_rows(course) if row["position"] == 30]
    for row in rows:
        assert row["moved"].estimate == row["behaviour"].estimate == 0
        if row["moved_left"].low is not None and row["behaviour_left"].low is not None:
            assert row["moved_left"].estimate == 0
            assert row["difference"].estimate == 0
            assert row["verdict"] == "together"
    assert {row["verdict"] for row in rows if row["measure"] == "rms"} == {"together"}


def test_stops_keep_their_places(course):
    assert list(course["position"].values) == [10, 20, 30]
    assert np.isnan(course["tau"].values[0])
    assert list(course["tau"].values[1:]) == [5, 15]
    assert list(course["mechanism"].values) == ["heads", "mlps", "all", *STREAMS]


def test_stops_out_of_order_other_trials_and_no_stops_are_refused(pair, one_sentence):
    with pytest.raises(UserError) as error:
        mechanism_course([Stop(10, 1, pair), Stop(10, 2, pair)])
    one_sentence(error.value, "10", "rising")
    other = replace(pair, trials=pair.trials.take(slice(1, 30)))
    with pytest.raises(UserError) as error:
        mechanism_course([Stop(10, 1, pair), Stop(20, 2, other)])
    one_sentence(error.value, "20", "trials")
    with pytest.raises(UserError) as error:
        mechanism_course([])
    one_sentence(error.value, "stops")


def planted(
    gap, heads, spread: float = 0.02, n: int = 400, antiphase: float = 0.0, seed: int | None = None
) -> xr.Dataset:
    """A gap and what heads move at every stop, as means over trials with some spread.

    `antiphase` is added to the heads' effect on half of the trials and taken off on the other half, at every stop.
    With a `seed` the means are off by their error, as a sample's are; without one they are exact.
    """
    noise = spread * np.random.default_rng(seed or 4).normal(size=(2, len(gap), n))
    noise = noise - noise.mean(-1, keepdims=True) if seed is None else noise
    gap, heads = np.array(gap)[:, None], np.array(heads)[:, None]
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    behaviour = gap + noise[0]
    effect = heads + noise[1] + antiphase * sign
    margin = np.stack([behaviour, np.zeros_like(behaviour)], 1)
    after = np.stack([behaviour - effect, effect], 1)[:, None]
    return xr.Dataset(
        {
            "margin": (("position", "branch", "trial"), margin),
            "margin_after": (("position", "mechanism", "branch", "trial"), after),
        },
        {"position": [10 * (i + 1) for i in range(len(gap))], "branch": ["below", "above"], "mechanism": ["heads"]},
    )


def verdicts(found, measure: str = "mean") -> list[str]:
    return [str(row["verdict"]) for row in mechanism_rows(found) if row["measure"] == measure]


@pytest.mark.parametrize(
    ("gap", "heads", "expected"),
    [
        ([1.0, 0.2], [0.5, 0.4], "later"),
        ([1.0, 0.8], [0.5, 0.1], "earlier"),
        ([1.0, 0.5], [0.5, 0.25], "together"),
        ([-1.0, -0.2], [-0.5, -0.4], "later"),
        ([1.0, 0.2], [-0.5, -0.4], "later"),
        ([1.0, 0.0], [0.5, 0.2], "later"),
        ([1.0, 0.5], [0.0, 0.2], "undetermined"),
    ],
)
def test_planted_relaxations_get_their_verdict(gap, heads, expected):
    assert verdicts(planted(gap, heads)) == ["arrival", expected]


def test_noise_makes_a_verdict_undetermined():
    assert verdicts(planted([1.0, 0.5], [0.5, 0.25], spread=2.0, n=60)) == ["arrival", "undetermined"]


def test_means_that_cancel_show_in_the_root_mean_square():
    """The gap and the mean effect relax, the effect on single trials stays."""
    found = planted([1.0, 0.1], [0.5, 0.05], antiphase=0.5)
    assert verdicts(found)[1] == "together"
    assert verdicts(found, "rms")[1] == "later"
    one = next(row for row in mechanism_rows(found) if row["measure"] == "rms" and row["position"] == 20)
    assert one["moved"].estimate == pytest.approx(np.sqrt(0.05**2 + 0.5**2), abs=0.01)
    assert one["moved_left"].estimate == pytest.approx(np.sqrt((0.05**2 + 0.25) / 0.5), abs=0.02)


def test_the_sign_of_what_is_left_counts_for_nothing_and_an_overshoot_is_in_the_rows():
    found = planted([1.0, -0.4], [0.5, 0.2])
    assert verdicts(found) == ["arrival", "together"]
    row = next(row for row in mechanism_rows(found) if row["position"] == 20)
    assert row["behaviour_left"].estimate == pytest.approx(-0.4, abs=0.01)


def test_where_a_ratio_may_have_either_sign_the_interval_spans_both():
    found = planted([1.0, 0.0], [0.5, 0.1], spread=0.3, n=50)
    row = next(row for row in mechanism_rows(found) if row["position"] == 20)
    left = row["behaviour_left"]
    assert left.contains(0)
    moved = row["moved_left"].estimate
    assert row["difference"].low <= moved - abs(left.estimate) <= moved + abs(left.estimate) <= row["difference"].high


@pytest.mark.parametrize("measure", ["mean", "rms"])
def test_the_interval_of_the_difference_covers_the_truth(measure):
    """Many samples of one planted relaxation: 95 % intervals hold what is true about that often."""
    spread = 0.3
    left = [[1.0, 0.2], [0.5, 0.4]]
    if measure == "rms":
        left = [[np.sqrt(size**2 + spread**2) for size in sizes] for sizes in left]
    (gap_then, gap_now), (heads_then, heads_now) = left
    truth = heads_now / heads_then - gap_now / gap_then
    hits = 0
    for seed in range(1, 101):
        rows = mechanism_rows(planted([1.0, 0.2], [0.5, 0.4], spread, n=100, seed=seed))
        row = next(row for row in rows if row["position"] == 20 and row["measure"] == measure)
        hits += row["difference"].contains(float(truth))
    assert 88 <= hits <= 99


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.01, 0.5, "later"),
        (-0.5, -0.01, "earlier"),
        (-TOGETHER, TOGETHER, "together"),
        (-0.01, 0.2, "undetermined"),
        (None, None, "undetermined"),
    ],
)
def test_verdicts_follow_the_rule(low, high, expected):
    reason = None if low is not None else "no interval"
    middle = None if low is None else (low + high) / 2
    assert verdict(Estimate(middle, low, high, 0.95, "method", "share", 5, reason)) == expected


def test_rooted_ends_never_are_roots_of_less_than_nothing():
    one = rooted(Estimate(4.0, -1.0, 9.0, 0.95, "method", "logits", 5))
    assert (one.estimate, one.low, one.high) == (2.0, 0.0, 3.0)


def test_rows_hold_sizes_and_ratios(course):
    values = mechanism_values(course)
    rows = [row for row in mechanism_rows(course) if row["mechanism"] == "heads" and row["measure"] == "mean"]
    then = values["moved"].sel(mechanism="heads", position=10).values
    for row in rows:
        now = values["moved"].sel(mechanism="heads", position=row["position"]).values
        assert row["moved"] == over_trials(now, "logits")
        assert row["moved_left"] == ratio_of_means(now, then, "share of the value at arrival", over="trials")


def test_over_seeds_each_seed_counts_once():
    seeds = [planted([1.0 + 0.1 * s, 0.2], [0.5, 0.4 + 0.02 * s], n=40) for s in range(5)]
    many = xr.concat([one.expand_dims(order=[0]) for one in seeds], "seed").assign_coords(seed=range(5))
    rows = mechanism_rows(many)
    assert all(row["moved"].n == 5 for row in rows)
    assert verdicts(many)[1] == verdicts(many, "rms")[1] == "later"
    arrays = mechanism_arrays(rows)
    assert list(arrays["measure"].values) == ["mean", "rms"]
    for row in rows:
        cell = arrays.sel(measure=row["measure"], mechanism=row["mechanism"], position=row["position"])
        assert str(cell["verdict"].values) == row["verdict"]
        assert float(cell["estimate"].sel(quantity="difference")) == row["difference"].estimate
