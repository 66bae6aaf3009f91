"""Schedules: the same steps in opposite orders, equal exposure, and the clocks against a plain loop."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyst_interp.config import ScheduleConfig
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.history.schedule import (
    Schedule,
    excursion,
    exposure_digest,
    hold_schedule,
    paired_schedules,
    refuse_unequal,
    tau,
)

SETTINGS = st.tuples(
    st.integers(1, 6),
    st.integers(1, 12),
    st.floats(0.01, 0.3),
    st.sampled_from(["probability", "log-odds"]),
    st.sampled_from([0.35, 0.5, 0.6]),
)


def configured(case, pairing: str = "paired") -> tuple[ScheduleConfig, float]:
    levels, dwell, delta, excursion, p0 = case
    return ScheduleConfig(levels=levels, dwell=dwell, delta=delta, excursion=excursion, pairing=pairing), p0


def steps(schedule: Schedule) -> list[tuple[float, int]]:
    return list(zip(schedule.p.tolist(), schedule.batch.tolist(), strict=True))


def test_a_staircase_by_hand():
    """L = 2, dwell 2, δ 0.4: half-way, peak, half-way, home; the second half mirrored on the same batches."""
    pair = paired_schedules(ScheduleConfig(levels=2, dwell=2, delta=0.4), 0.5)
    up = [0.7, 0.7, 0.9, 0.9, 0.7, 0.7, 0.5, 0.5]
    down = [0.3, 0.3, 0.1, 0.1, 0.3, 0.3, 0.5, 0.5]
    np.testing.assert_allclose(pair["below"].p, up + down, rtol=0, atol=1e-15)
    np.testing.assert_allclose(pair["above"].p, down + up, rtol=0, atol=1e-15)
    assert pair["below"].batch.tolist() == pair["above"].batch.tolist() == [*range(8), *range(8)]


def test_a_triangle_is_a_staircase_with_dwell_one():
    triangle = excursion(ScheduleConfig(shape="triangle", levels=3, dwell=1, delta=0.3), 0.5, +1)
    np.testing.assert_allclose(triangle.p, [0.6, 0.7, 0.8, 0.7, 0.6, 0.5], rtol=0, atol=1e-15)
    assert steps(triangle) == steps(excursion(ScheduleConfig(levels=3, dwell=1, delta=0.3), 0.5, +1))


@given(SETTINGS)
def test_from_below_is_up_then_down_and_from_above_is_down_then_up(case):
    config, p0 = configured(case)
    pair = paired_schedules(config, p0)
    half = 2 * config.levels * config.dwell
    up, down = steps(excursion(config, p0, +1)), steps(excursion(config, p0, -1))
    assert len(up) == len(down) == half
    assert tuple(pair) == BRANCHES
    assert steps(pair["below"]) == up + down
    assert steps(pair["above"]) == down + up
    np.testing.assert_array_equal(pair["below"].batch, pair["above"].batch)
    assert steps(pair["below"].take(slice(0, half))) == up
    for steps_, sign in ((up, 1), (down, -1)):
        assert [b for _, b in steps_] == list(range(half))
        assert all(sign * (p - p0) > 0 for p, _ in steps_[: -config.dwell])
        assert [p for p, _ in steps_[-config.dwell :]] == [p0] * config.dwell
        levels = [p for p, _ in steps_[:: config.dwell]]
        assert levels[:-1] == levels[:-1][::-1]
        assert [p for p, _ in steps_] == [p for p in levels for _ in range(config.dwell)]


@given(SETTINGS)
def test_levels_are_equally_far_apart(case):
    """In the unit of the excursion, the j-th level is j·δ/L from home."""
    config, p0 = configured(case)

    def unit(p: float) -> float:
        return p if config.excursion == "probability" else math.log(p / (1 - p))

    for sign in (1, -1):
        levels = excursion(config, p0, sign).p[:: config.dwell][: config.levels]
        offsets = [sign * (unit(float(p)) - unit(p0)) for p in levels]
        expected = [config.delta * (j + 1) / config.levels for j in range(config.levels)]
        np.testing.assert_allclose(offsets, expected, atol=1e-12)


@given(SETTINGS, st.sampled_from(["paired", "independent"]))
def test_exposure_is_equal_as_a_multiset(case, pairing):
    """Both pairings expose the branches to the same steps; only `paired` has the same batch at every step."""
    config, p0 = configured(case, pairing)
    below, above = (paired_schedules(config, p0)[branch] for branch in BRANCHES)
    assert sorted(steps(below)) == sorted(steps(above))
    assert exposure_digest(below) == exposure_digest(above)
    assert below.digest() != above.digest()
    half = len(below) // 2
    if pairing == "paired":
        assert len(set(below.batch.tolist())) == half
    else:
        assert sorted(below.batch.tolist()) == sorted(above.batch.tolist()) == list(range(2 * half))
        assert (below.batch != above.batch).all()


@given(SETTINGS)
def test_without_an_excursion_the_branches_are_one_schedule(case):
    config, p0 = configured(case)
    null = config.model_copy(update={"delta": 0.0})
    pair = paired_schedules(null, p0)
    assert steps(pair["below"]) == steps(pair["above"])
    assert pair["below"].digest() == pair["above"].digest()
    assert set(pair["below"].p.tolist()) == {p0}
    apart = paired_schedules(null.model_copy(update={"pairing": "independent"}), p0)
    assert apart["below"].digest() != apart["above"].digest()


def planted(pair: dict, p: float | None = None, batch: int | None = None) -> Schedule:
    above = pair["above"]
    mixtures, batches = above.p.copy(), above.batch.copy()
    if p is not None:
        mixtures[3] = p
    if batch is not None:
        batches[3] = batch
    return Schedule(mixtures, batches, above.role, above.p0)


def test_a_planted_inequality_is_refused():
    pair = paired_schedules(ScheduleConfig(levels=2, dwell=2), 0.5)
    below, above = pair["below"], pair["above"]
    refuse_unequal(below, above)
    swapped = np.arange(len(above))[::-1]
    refuse_unequal(below, Schedule(above.p[swapped], above.batch[swapped], above.role, above.p0))
    for wrong in (
        planted(pair, p=0.5),
        planted(pair, batch=7),
        planted(pair, p=float(np.nextafter(above.p[3], 1))),
        Schedule(above.p, above.batch[swapped], above.role, above.p0),
        Schedule(above.p, above.batch, "hold", above.p0),
    ):
        with pytest.raises(ValueError, match="exposed differently"):
            refuse_unequal(below, wrong)
    with pytest.raises(ValueError, match="16 and 15 updates"):
        refuse_unequal(below, above.take(slice(0, 15)))


def test_an_impossible_excursion_is_refused():
    with pytest.raises(ValueError, match=r"delta is 0\.4 at p0 = 0\.3"):
        paired_schedules(ScheduleConfig(), 0.3)


@settings(max_examples=200)
@given(st.lists(st.sampled_from([0.5, 0.5, 0.1, 0.9]), max_size=30))
def test_tau_is_the_number_of_updates_since_the_last_one_away_from_home(p):
    found = tau(np.array(p, dtype=float), 0.5)
    assert len(found) == len(p) + 1
    for position in range(len(p) + 1):
        away = [step for step in range(position) if p[step] != 0.5]
        if away:
            assert found[position] == position - 1 - away[-1]
        else:
            assert math.isnan(found[position])


@given(SETTINGS)
def test_a_schedule_arrives_with_tau_equal_to_dwell(case):
    config, p0 = configured(case)
    for schedule in paired_schedules(config, p0).values():
        assert tau(schedule.p, p0)[-1] == config.dwell


def test_holds_stay_home_on_batches_of_their_own():
    hold = hold_schedule(7, 0.4)
    assert len(hold) == 7
    assert set(hold.p.tolist()) == {0.4}
    assert hold.batch.tolist() == list(range(7))
    assert hold.role == "hold"
    assert paired_schedules(ScheduleConfig(delta=0.1), 0.4)["below"].role == "excursion"
    assert steps(hold_schedule(9, 0.4).take(slice(0, 7))) == steps(hold)
