"""Mechanism beside behaviour: the donors of the attenuation at every stop, and verdicts on planted relaxations."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import cell, from_estimates, records
from hyst_interp.errors import UserError
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.questions.crossing.crossing_over_time import Stop, crossing_over_time, over_time_values
from hyst_interp.questions.crossing.measure import cross_model_patching
from hyst_interp.questions.crossing.over_time_summary import TOGETHER, over_time_table, rooted, verdicts
from hyst_interp.questions.crossing.summary import crossed
from hyst_interp.statistics import Estimate, over_trials, ratio_of_means, undefined

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
    return crossing_over_time(
        Stop(at, tau, one) for at, tau, one in ((10, None, pair), (20, 5, middle), (30, 15, gone))
    )


def test_sets_are_the_donors_of_the_attenuation_and_streams_the_cells_of_the_crossing(pair, course):
    values = over_time_values(course).sel(position=10)
    rows = attenuation(pair, {"donor": pair.sets("heads,mlps,all")})
    moved = logits_moved(rows)
    for index, name in enumerate(("heads", "mlps", "all")):
        for mine in ("into_below", "into_above", "moved"):
            np.testing.assert_allclose(values[mine].sel(mechanism=name), moved[mine].isel(row=index), rtol=0, atol=1e-5)
    cells = crossed(cross_model_patching(pair, "resid_pre")).sel(role="query")
    for layer, name in enumerate(STREAMS):
        np.testing.assert_allclose(
            values["moved"].sel(mechanism=name), cells["moved"].sel(layer=layer), rtol=0, atol=1e-5
        )
    np.testing.assert_allclose(values["gap"], moved["gap"], rtol=0, atol=1e-5)


def test_one_network_twice_has_nothing_left_exactly(course):
    values = over_time_values(course).sel(position=30)
    assert all((one == 0).all() for one in values.data_vars.values())
    rows = [row for row in over_time_rows(course) if row["position"] == 30]
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
        crossing_over_time([Stop(10, 1, pair), Stop(10, 2, pair)])
    one_sentence(error.value, "10", "rising")
    other = replace(pair, trials=pair.trials.take(slice(1, 30)))
    with pytest.raises(UserError) as error:
        crossing_over_time([Stop(10, 1, pair), Stop(20, 2, other)])
    one_sentence(error.value, "20", "trials")
    with pytest.raises(UserError) as error:
        crossing_over_time([])
    one_sentence(error.value, "stops")


def over_time_rows(followed: xr.Dataset) -> list[Row]:
    return records(over_time_table(followed))


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


def told(followed, measure: str = "mean") -> list[str]:
    return [str(word) for word in over_time_table(followed)["verdict"].sel(measure=measure).values.ravel()]


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
    assert told(planted(gap, heads)) == ["arrival", expected]


def test_noise_makes_a_verdict_undetermined():
    assert told(planted([1.0, 0.5], [0.5, 0.25], spread=2.0, n=60)) == ["arrival", "undetermined"]


def test_means_that_cancel_show_in_the_root_mean_square():
    """The gap and the mean effect relax, the effect on single trials stays."""
    found = planted([1.0, 0.1], [0.5, 0.05], antiphase=0.5)
    assert told(found)[1] == "together"
    assert told(found, "rms")[1] == "later"
    one = next(row for row in over_time_rows(found) if row["measure"] == "rms" and row["position"] == 20)
    assert one["moved"].estimate == pytest.approx(np.sqrt(0.05**2 + 0.5**2), abs=0.01)
    assert one["moved_left"].estimate == pytest.approx(np.sqrt((0.05**2 + 0.25) / 0.5), abs=0.02)


def test_the_sign_of_what_is_left_counts_for_nothing_and_an_overshoot_is_in_the_rows():
    found = planted([1.0, -0.4], [0.5, 0.2])
    assert told(found) == ["arrival", "together"]
    row = next(row for row in over_time_rows(found) if row["position"] == 20)
    assert row["behaviour_left"].estimate == pytest.approx(-0.4, abs=0.01)


def test_where_a_ratio_may_have_either_sign_the_interval_spans_both():
    found = planted([1.0, 0.0], [0.5, 0.1], spread=0.3, n=50)
    row = next(row for row in over_time_rows(found) if row["position"] == 20)
    left = row["behaviour_left"]
    assert left.contains(0)
    moved = row["moved_left"].estimate
    assert row["difference"].low <= moved - abs(left.estimate) <= moved + abs(left.estimate) <= row["difference"].high


def test_the_interval_of_the_difference_covers_the_truth():
    """Many samples of one planted relaxation: 95 % intervals of both measures hold what is true about that often."""
    spread, sizes = 0.3, np.array([[1.0, 0.2], [0.5, 0.4]])  # gap, heads: at arrival, and later
    truths = {}
    for measure, ((gap_then, gap_now), (heads_then, heads_now)) in {
        "mean": sizes,
        "rms": np.sqrt(sizes**2 + spread**2),
    }.items():
        truths[measure] = float(heads_now / heads_then - gap_now / gap_then)
    hits = dict.fromkeys(truths, 0)
    for seed in range(1, 101):
        for row in over_time_rows(planted(*sizes.tolist(), spread, n=100, seed=seed)):
            if row["position"] == 20:
                hits[row["measure"]] += row["difference"].contains(truths[row["measure"]])
    assert all(88 <= count <= 99 for count in hits.values())


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
    difference = from_estimates([Estimate(middle, low, high, 0.95, "method", "share", 5, reason)], "position")
    assert list(verdicts(difference).values) == [expected]


def test_rooted_ends_never_are_roots_of_less_than_nothing():
    squares = [Estimate(4.0, -1.0, 9.0, 0.95, "method", "logits", 5), undefined("no values", "logits", 0)]
    root, nothing = (cell(rooted(from_estimates(squares, "row")), row=row) for row in (0, 1))
    assert (root.estimate, root.low, root.high) == (2.0, 0.0, 3.0)
    assert root.method == "method, of squares, rooted"
    assert (nothing.estimate, nothing.reason) == (None, "no values")


def differences(followed: xr.Dataset, measure: str) -> list[tuple[float, float, float]]:
    """The difference of sizes at every stop after arrival, by a plain loop over one mechanism and trials."""
    values = over_time_values(followed).isel(mechanism=0)
    squares = (values["into_below"] ** 2 + values["into_above"] ** 2) / 2
    pairs = {"mean": (values["gap"], values["moved"]), "rms": (values["gap"] ** 2, squares)}
    expected = []
    for stop in range(1, followed.sizes["position"]):
        sizes, signs = [], []
        for array in pairs[measure]:
            then, now = array.isel(position=0).values, array.isel(position=stop).values
            left = ratio_of_means(now, then, over="trials")
            ratio = now.mean() / then.mean()
            terms = (now - ratio * then) / then.mean()
            if measure == "rms":
                ratio, terms = np.sqrt(ratio), terms / (2 * np.sqrt(ratio))
            sizes.append((ratio, ratio + terms))
            signs.append((1, -1) if measure == "mean" and left.contains(0) else (np.sign(ratio),))
        ends = [
            over_trials(plus * sizes[1][1] - minus * sizes[0][1], "share") for minus in signs[0] for plus in signs[1]
        ]
        size = abs(sizes[1][0]) - abs(sizes[0][0])
        expected.append((size, min(end.low for end in ends), max(end.high for end in ends)))
    return expected


@pytest.mark.parametrize("measure", ["mean", "rms"])
@pytest.mark.parametrize("gap", [[1.0, 0.2, -0.4], [1.0, 0.0, 0.5], [-1.0, 0.3, 0.01]])
def test_differences_of_all_cells_at_once_equal_a_plain_loop(gap, measure):
    followed = planted(gap, [0.5, 0.02, -0.3], spread=0.3, n=60)
    table = over_time_table(followed).sel(quantity="difference", measure=measure, mechanism="heads")
    numbers = [table[name].values[1:] for name in ("estimate", "low", "high")]
    np.testing.assert_allclose(np.transpose(numbers), differences(followed, measure), rtol=1e-9)


def test_rows_hold_sizes_and_ratios(course):
    values = over_time_values(course)
    rows = [row for row in over_time_rows(course) if row["mechanism"] == "heads" and row["measure"] == "mean"]
    then = values["moved"].sel(mechanism="heads", position=10).values
    for row in rows:
        now = values["moved"].sel(mechanism="heads", position=row["position"]).values
        expected = over_trials(now, "logits")
        assert (row["moved"].estimate, row["moved"].low) == pytest.approx((expected.estimate, expected.low))
        assert row["moved_left"] == ratio_of_means(now, then, "share of the value at arrival", over="trials")


def test_over_seeds_each_seed_counts_once():
    seeds = [planted([1.0 + 0.1 * s, 0.2], [0.5, 0.4 + 0.02 * s], n=40) for s in range(5)]
    many = xr.concat([one.expand_dims(order=[0]) for one in seeds], "seed").assign_coords(seed=range(5))
    rows = over_time_rows(many)
    assert all(row["moved"].n == 5 for row in rows)
    assert told(many)[1] == told(many, "rms")[1] == "later"
    table = over_time_table(many)
    assert list(table["measure"].values) == ["mean", "rms"]
    for row in rows:
        stop = table.sel(measure=row["measure"], mechanism=row["mechanism"], position=row["position"])
        assert str(stop["verdict"].values) == row["verdict"]
        assert float(stop["estimate"].sel(quantity="difference")) == row["difference"].estimate
