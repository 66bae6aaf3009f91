"""The plan: every stage after its needs, hashes that follow the configuration, and nothing twice."""

import pytest

from hyst_interp.analysis.question import Orders
from hyst_interp.config.study import StudyConfig, hold_positions, load_study, schedule_positions
from hyst_interp.questions import questions
from hyst_interp.study.plan import Stage, plan

TINY = load_study("tiny")
LOCATING = {q.stage.kind for q in questions() if q.stage is not None and q.stage.orders is Orders.LOCATED}
RECORDED = "d0eea0727e127ce2647f916d3ececff9f9b3d2ad0a592944139eaafbcad749a5"
"""Hash of the tiny study's first anchor before a study could name a device: runs of that time still resume."""


def by_directory(study: StudyConfig) -> dict[str, Stage]:
    return {stage.directory: stage for stage in plan(study)}


def test_every_stage_comes_after_what_it_needs_and_has_its_own_directory() -> None:
    seen: set[str] = set()
    for stage in plan(TINY):
        assert seen.issuperset(stage.needs)
        assert stage.directory not in seen
        seen.add(stage.directory)


def test_counts_follow_seeds_and_orders() -> None:
    kinds = [stage.kind for stage in plan(TINY.replace(seeds=[3, 5, 8]))]
    assert kinds.count("anchor") == 3
    assert kinds.count("branch") == 3 * TINY.orders * 2
    assert kinds.count("patching") == 3 * TINY.patching.orders
    assert kinds[-2:] == ["collect", "report"]


def kinds_of(**changes) -> set[str]:
    return {stage.kind for stage in plan(TINY.replace(**changes))}


def test_the_memory_is_looked_for_where_the_study_says_and_its_checkpoints_allow() -> None:
    assert set(LOCATING) <= kinds_of()
    assert not set(LOCATING) & kinds_of(localization={"orders": 0})
    assert set(LOCATING) - kinds_of(save_optimizer=[]) == {"transplant", "crossing"}
    counted = [stage.kind for stage in plan(TINY.replace(localization={"orders": 1}))]
    assert all(counted.count(kind) == len(TINY.seeds) for kind in LOCATING)


def test_looking_for_the_memory_changes_no_stage_that_was_there_before() -> None:
    before, after = by_directory(TINY.replace(localization={"orders": 0})), by_directory(TINY)
    assert set(before) < set(after)
    assert {name for name in before if before[name] != after[name]} == {"results", "figures"}


def test_the_plan_is_a_pure_function_of_the_study() -> None:
    assert plan(TINY) == plan(load_study("tiny"))


@pytest.mark.parametrize(
    ("change", "moved", "kept"),
    [
        ({"schedule": {"delta": 0.3, "levels": 2, "dwell": 5}}, "seed-0/order-0/below", "seed-0/anchor"),
        ({"patching": {"trials": 65}}, "seed-0/order-0/results/patching", "seed-0/order-0/below"),
        ({"patching": {"trials": 65}}, "results", "seed-0/order-0/results/attenuation"),
        ({"training": {"batch_size": 16}}, "seed-0/anchor", ""),
        ({"seeds": [0]}, "results", "seed-0/order-0/results/behaviour"),
    ],
)
def test_a_change_moves_the_hashes_that_depend_on_it_and_no_others(change: dict, moved: str, kept: str) -> None:
    before, after = by_directory(TINY), by_directory(TINY.replace(**change))
    assert before[moved].digest != after[moved].digest
    assert not kept or before[kept].digest == after[kept].digest


def test_a_gpu_moves_every_hash_but_the_cpu_is_the_default_that_older_runs_have() -> None:
    before, after = by_directory(TINY), by_directory(TINY.replace(device="cuda"))
    assert before == by_directory(TINY.replace(device="cpu"))
    assert all(before[name].digest != after[name].digest for name in before)
    assert before["seed-0/anchor"].digest == RECORDED


def test_seeds_and_orders_have_hashes_of_their_own() -> None:
    digests = [stage.digest for stage in plan(TINY)]
    assert len(set(digests)) == len(digests)


def test_positions_hold_both_ends_of_the_schedule_and_every_hold() -> None:
    paper = load_study("paper")
    along, held = schedule_positions(paper), hold_positions(paper)
    assert along[0] == 0
    assert along[-1] == 4 * paper.schedule.levels * paper.schedule.dwell
    assert list(along) == sorted(set(along))
    assert set(paper.holds) - {0} <= set(held)
    assert max(held) == max(paper.holds)
    assert 30 <= len(along) <= 50
