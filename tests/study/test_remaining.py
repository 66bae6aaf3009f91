"""The time left: closed forms for equal stages, kinds of unlike duration, workers side by side, and chains."""

from itertools import pairwise

import pytest

from hyst_interp.config.study import load_study
from hyst_interp.study.execute import Event, InProcess, execute
from hyst_interp.study.plan import Stage, plan
from hyst_interp.study.remaining import Took, parallelism, time_left


def stages(kind: str, number: int, needs: tuple[str, ...] = ()) -> tuple[Stage, ...]:
    return tuple(Stage(kind, f"{kind}-{index}", "", needs) for index in range(number))


def one_after_another(*seconds: tuple[str, float]) -> list[Took]:
    """One worker that is never idle."""
    taken, now = [], 0.0
    for kind, duration in seconds:
        now += duration
        taken.append(Took(kind, duration, now))
    return taken


def test_nothing_is_known_before_the_first_stage_and_nothing_is_left_after_the_last() -> None:
    assert time_left([], stages("a", 3)) is None
    assert time_left(one_after_another(("a", 2.0)), ()) == 0.0


@pytest.mark.parametrize("done", [1, 2, 7])
def test_equal_stages_take_their_number_times_their_duration(done: int) -> None:
    taken = one_after_another(*[("a", 3.0)] * done)
    assert time_left(taken, stages("a", 10 - done)) == pytest.approx(3.0 * (10 - done))


def test_kinds_a_hundredfold_apart_are_kept_apart() -> None:
    """Stages done by stages left would say 2.5 s; the three long ones take 300 s."""
    taken = one_after_another(("long", 100.0), *[("short", 1.0)] * 99)
    assert time_left(taken, stages("long", 3)) == pytest.approx(300.0)
    assert time_left(taken, stages("short", 3)) == pytest.approx(3.0)
    assert time_left(taken, (*stages("long", 1), *stages("short", 10))) == pytest.approx(110.0)


def test_a_kind_never_seen_costs_the_overall_mean() -> None:
    taken = one_after_another(("a", 1.0), ("a", 1.0), ("b", 4.0))
    assert time_left(taken, stages("c", 5)) == pytest.approx(10.0)
    assert time_left(taken, (*stages("c", 1), *stages("b", 1))) == pytest.approx(6.0)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_workers_side_by_side_divide_the_work(workers: int) -> None:
    taken = [Took("a", 5.0, 5.0 * (batch + 1)) for batch in range(3) for _ in range(workers)]
    assert parallelism(taken) == pytest.approx(workers)
    assert time_left(taken, stages("a", 4 * workers)) == pytest.approx(20.0)


def test_a_worker_that_waits_half_of_the_time_takes_twice_as_long() -> None:
    taken = [Took("a", 1.0, 1.0), Took("a", 1.0, 3.0), Took("a", 1.0, 5.0), Took("a", 2.0, 8.0)]
    assert parallelism(taken) == pytest.approx(5 / 8)
    assert time_left(taken, stages("b", 4)) == pytest.approx(4 * 1.25 * 8 / 5)


def test_stages_done_together_that_share_their_time_are_no_workers_side_by_side() -> None:
    """As histories trained in lockstep: four in 20 s, each of which is given 5 s."""
    taken = [Took("a", 5.0, 20.0) for _ in range(4)]
    assert parallelism(taken) == pytest.approx(1.0)
    assert time_left(taken, stages("a", 4)) == pytest.approx(20.0)


def test_stages_that_need_one_another_take_no_less_than_their_chain() -> None:
    taken = [Took("a", 4.0, 4.0) for _ in range(4)]
    chain = (Stage("a", "1", "", ("done before",)), Stage("a", "2", "", ("1",)), Stage("a", "3", "", ("2", "1")))
    assert time_left(taken, chain) == pytest.approx(12.0)
    assert time_left(taken, stages("a", 3)) == pytest.approx(4.0)


def test_stages_without_a_measurable_duration_leave_nothing() -> None:
    assert time_left([Took("a", 0.0, 0.0)], stages("a", 3)) == 0.0
    assert time_left([Took("a", 0.0, 0.0), Took("a", 0.0, 1.0)], stages("a", 3)) == 0.0


def test_events_say_what_is_left_and_which_seeds_are_finished(tmp_path, monkeypatch) -> None:
    """Seed 1 is kept from an earlier run as far as its anchor; a kept stage is no duration."""
    study = load_study("tiny")
    whole = plan(study)
    kept = next(stage for stage in whole if stage.kind == "anchor" and stage.seed == 1)
    monkeypatch.setattr(
        "hyst_interp.study.ledger.stage_hash",
        lambda directory: kept.digest if directory == tmp_path / kept.directory else None,
    )
    monkeypatch.setattr("hyst_interp.study.execute.timed_stage", lambda study, root, stage: {"seconds": 1.0})
    events: list[Event] = []
    execute(study, tmp_path, whole, InProcess(), events.append)
    assert [event.kind for event in events] == ["kept", *["done"] * (len(whole) - 1)]
    done: set[Stage] = set()
    for event in events:
        done.add(event.stage)
        assert set(event.left) == set(whole) - done
        assert event.finished == len(done)
        finished = [s for s in study.seeds if all(stage in done for stage in whole if stage.seed == s)]
        assert (event.seeds_finished, event.seeds) == (len(finished), len(study.seeds))
    assert [events[i].seeds_finished for i in (0, -1)] == [0, 2]
    assert all(a.elapsed <= b.elapsed for a, b in pairwise(events))
