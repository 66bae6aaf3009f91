"""Lockstep: every member of an ensemble has the history that it would have alone, up to rounding.

Weights are compared without b_K, which a loss does not see. A slower twin of everything here is `advance` itself.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.config import ModelConfig, OptimizerConfig, ScheduleConfig, SetUp, TaskConfig, TrainingConfig
from hyst_interp.config.schedule import Branch
from hyst_interp.errors import UserError
from hyst_interp.history import convergence, ensemble
from hyst_interp.history.advance import advance, trajectory
from hyst_interp.history.convergence import train_anchor, train_anchors
from hyst_interp.history.ensemble import trajectory_together
from hyst_interp.history.ensemble_optimizer import factors
from hyst_interp.history.measured import measured
from hyst_interp.history.schedule import Schedule, hold_schedule, paired_schedules
from hyst_interp.history.state import TrainingState, fork, initial_state
from hyst_interp.storage.checkpoint import load
from hyst_interp.tasks.registry import task_of

TINY = SetUp(
    seed=3,
    p0=0.5,
    task=TaskConfig(n_keys=4, n_values=5, n_pairs=2),
    model=ModelConfig(n_layers=2, n_heads=2, d_model=8, d_mlp=12),
    training=TrainingConfig(batch_size=8),
)
PAIR = paired_schedules(ScheduleConfig(levels=2, dwell=3), 0.5)
OPTIMIZERS = {
    "adamw": {"name": "adamw", "lr": 3e-3},
    "adam": {"name": "adam", "lr": 3e-3, "weight_decay": 0.1},
    "sgd": {"name": "sgd", "lr": 0.05, "weight_decay": 0.1},
    "plain sgd": {"name": "sgd", "lr": 0.05, "weight_decay": 0.0},
    "momentum": {"name": "momentum", "lr": 0.05, "momentum": 0.8},
    "clipped adamw": {"name": "adamw", "lr": 3e-3, "clip_norm": 0.05, "weight_decay": 0.3, "betas": [0.8, 0.95]},
    "clipped momentum": {"name": "momentum", "lr": 0.05, "clip_norm": 0.05},
}


def tiny(seed: int = 3, **optimizer) -> SetUp:
    training = TINY.training.to_json() | {"optimizer": optimizer or OPTIMIZERS["adamw"]}
    return SetUp.model_validate(TINY.to_json() | {"seed": seed, "training": training})


def aged(setup: SetUp, updates: int) -> TrainingState:
    return advance(initial_state(setup), Schedule(np.full(updates, 0.5), np.arange(updates), "anchor", 0.5))


def together(states: Sequence[TrainingState], schedules: Sequence[Schedule], **more) -> list[TrainingState]:
    return list(trajectory_together(states, schedules, [len(schedules[0])], **more))[-1]


def steps_of(state: TrainingState, pair: dict[Branch, Schedule] = PAIR) -> Schedule:
    return pair["below" if state.branch == "below" else "above"]


def flat(state: TrainingState) -> torch.Tensor:
    return torch.cat([value.flatten() for name, value in state.weights.items() if not name.endswith("b_K")])


def tensors(state: TrainingState) -> list[torch.Tensor]:
    return [*state.weights.values(), *(value for found in state.moments.values() for value in found.values())]


def apart(one: TrainingState, other: TrainingState) -> float:
    """Largest difference of a weight."""
    assert one.weights.keys() == other.weights.keys()
    return float((flat(one) - flat(other)).abs().max())


def same_clock(one: TrainingState, other: TrainingState) -> bool:
    names = ("setup", "step", "position", "tau", "branch", "order")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def test_two_hundred_updates_from_a_trained_anchor_give_the_margins_of_each_alone(small_anchor: TrainingState) -> None:
    """Both branches, two orders, another seed of another age; up and down, then home.

    The histories go on at a sixth of the anchor's learning rate. At its own, differences of rounding grow so fast that
    torch's fused and unfused AdamW, too, are almost 1e-4 apart after 200 updates.
    """
    schedules = paired_schedules(ScheduleConfig(levels=4, dwell=12), 0.5)
    training = TrainingConfig(batch_size=32, optimizer=OptimizerConfig(lr=5e-4))
    younger = aged(small_anchor.setup.model_copy(update={"seed": 7}), 250)
    anchor, other = (
        replace(state, setup=state.setup.model_copy(update={"training": training})) for state in (small_anchor, younger)
    )
    members = [
        (fork(anchor, "below", 0), schedules["below"]),
        (fork(anchor, "above", 1), schedules["above"]),
        (fork(other, "below", 0), schedules["below"]),
    ]
    trials = evaluation_trials(small_anchor.task, 256)
    arrived = together([state for state, _ in members], [schedule for _, schedule in members])
    held = together(arrived, [hold_schedule(8, 0.5)] * 3)
    margins = []
    for (state, schedule), found in zip(members, held, strict=True):
        alone = advance(advance(state, schedule), hold_schedule(8, 0.5))
        assert alone.position == found.position == 200
        assert same_clock(alone, found)
        one, own = measured(found, trials)["margin"], measured(alone, trials)["margin"]
        np.testing.assert_allclose(one, own, rtol=0, atol=1e-5)
        margins.append(own)
    # the control: members differ by far more than that
    assert min(np.abs(a - b).max() for i, a in enumerate(margins) for b in margins[:i]) > 0.1


def test_a_pair_from_the_reference_anchor_arrives_at_the_same_mean_margins() -> None:
    """At the paper's own size and learning rate: what a study reports of 200 updates, the mean over trials."""
    anchor = load(Path(__file__).parents[2] / "checkpoints" / "seed-0" / "anchor").state()
    schedules = paired_schedules(ScheduleConfig(levels=5, dwell=10), 0.5)
    starts = [fork(anchor, branch, 0) for branch in schedules]
    found = together(starts, list(schedules.values()))
    trials, gap = evaluation_trials(anchor.task, 512), []
    for start, schedule, state in zip(starts, schedules.values(), found, strict=True):
        one, own = measured(state, trials)["margin"], measured(advance(start, schedule), trials)["margin"]
        assert abs(one.mean(dtype=np.float64) - own.mean(dtype=np.float64)) < 1e-5
        np.testing.assert_allclose(one, own, rtol=0, atol=1e-4)
        gap.append(own.mean(dtype=np.float64))
    assert abs(gap[0] - gap[1]) > 0.01  # the control


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("fused", [True, False])
def test_every_optimizer_is_torchs_own(name: str, fused: bool) -> None:
    setups = [tiny(seed, **OPTIMIZERS[name], fused=fused) for seed in (3, 4)]
    starts = [fork(aged(setup, 5), "below", 0) for setup in setups]
    positions = (0, 1, 12)
    found = list(trajectory_together(starts, [PAIR["below"], PAIR["above"]], positions))
    for member, (start, schedule) in enumerate(zip(starts, PAIR.values(), strict=True)):
        for states, alone in zip(found, trajectory(start, schedule, positions), strict=True):
            own = states[member]
            assert same_clock(own, alone)
            assert apart(own, alone) < 2e-6
            assert {n: set(held) for n, held in own.moments.items()} == {n: set(h) for n, h in alone.moments.items()}
            for key, held in alone.moments.items():
                for kind, value in held.items():
                    torch.testing.assert_close(own.moments[key][kind], value, rtol=1e-4, atol=1e-6)


def test_members_of_different_ages_have_the_bias_correction_of_their_own() -> None:
    starts = [initial_state(tiny(3)), aged(tiny(4), 3), aged(tiny(5), 40)]
    schedules = [hold_schedule(10, 0.5)] * 3
    found = together(starts, schedules)
    for start, own in zip(starts, found, strict=True):
        assert own.step == start.step + 10
        assert apart(own, advance(start, schedules[0])) < 2e-6
    ages = [start.step for start in starts]
    corrections = factors(tiny().training.optimizer, ages, 10)
    assert len({tuple(row) for row in corrections[0].tolist()}) == 3
    np.testing.assert_array_equal(corrections[3, 0], corrections[0, 1])


def test_a_state_that_kept_no_moments_starts_its_optimizer_anew_as_it_would_alone() -> None:
    bare = replace(aged(tiny(3), 30), moments={})
    found = together([bare, aged(tiny(4), 30)], [hold_schedule(6, 0.5)] * 2)
    assert apart(found[0], advance(bare, hold_schedule(6, 0.5))) < 2e-6
    [at_start] = list(trajectory_together([bare], [hold_schedule(6, 0.5)], [0]))
    assert at_start[0].moments == {}


def test_the_order_of_members_does_not_matter() -> None:
    states = [fork(aged(tiny(seed), 4), branch, 0) for seed in (3, 4) for branch in PAIR]
    schedules = [steps_of(state) for state in states]
    found = together(states, schedules)
    order = [2, 0, 3, 1]
    turned = together([states[i] for i in order], [schedules[i] for i in order])
    for place, member in enumerate(order):
        assert same_clock(turned[place], found[member])
        assert apart(turned[place], found[member]) < 1e-6
    assert apart(found[0], found[1]) > 1e-3


def test_without_an_excursion_both_branches_are_equal_bit_for_bit() -> None:
    null = paired_schedules(ScheduleConfig(delta=0.0, levels=2, dwell=3), 0.5)
    anchors = [aged(tiny(seed), 4) for seed in (3, 4)]
    states = [fork(anchor, branch, 0) for anchor in anchors for branch in null]
    found = together(states, [steps_of(state, null) for state in states])
    assert found[0].hash() == found[1].hash()
    assert found[2].hash() == found[3].hash()
    assert found[0].weights_hash() != found[2].weights_hash()
    assert found[0].weights_hash() != states[0].weights_hash()


def test_snapshots_share_no_memory_and_inputs_are_unchanged() -> None:
    states = [fork(aged(tiny(seed), 4), "below", 0) for seed in (3, 4)]
    before = [state.hash() for state in states]
    found = [*states]
    for snapshot in trajectory_together(states, [PAIR["below"]] * 2, [0, 1, 2]):
        for state in snapshot:
            for value in tensors(state):
                value.add_(1)  # must not reach the run
        found.extend(snapshot)
    pointers = [value.untyped_storage().data_ptr() for state in found for value in tensors(state)]
    assert len(set(pointers)) == len(pointers)
    assert [state.hash() for state in states] == before
    [clean] = trajectory_together(states, [PAIR["below"]] * 2, [2])
    assert apart(replace(found[-1], weights={n: v - 1 for n, v in found[-1].weights.items()}), clean[1]) < 1e-6


def test_a_run_again_and_a_run_in_other_blocks_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    states = [fork(aged(tiny(seed), 4), "below", 0) for seed in (3, 4)]
    whole = together(states, [PAIR["below"]] * 2)
    assert [s.hash() for s in together(states, [PAIR["below"]] * 2)] == [s.hash() for s in whole]
    monkeypatch.setattr(ensemble, "BLOCK", 5)
    assert [s.hash() for s in together(states, [PAIR["below"]] * 2)] == [s.hash() for s in whole]
    half = together(states, [PAIR["below"].take(slice(0, 7))] * 2)
    rest = together(half, [PAIR["below"].take(slice(7, None))] * 2)
    assert [s.hash() for s in rest] == [s.hash() for s in whole]


def test_a_batch_is_drawn_once_for_all_who_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple] = []
    kind = type(task_of(TINY))
    batch = kind.batch

    def noted(self, stream, index, size):
        drawn.append((stream, index))
        return batch(self, stream, index, size)

    states = [fork(initial_state(tiny()), branch, order) for order in (0, 1) for branch in PAIR]
    monkeypatch.setattr(kind, "batch", noted)
    together(states, [steps_of(state) for state in states])
    assert len(drawn) == len(set(drawn)) == 2 * len(PAIR["below"]) // 2
    assert {stream.order for stream, _ in drawn} == {0, 1}


STATE = initial_state(tiny())
STEPS = hold_schedule(3, 0.5)


def other(**changes) -> TrainingState:
    return initial_state(SetUp.model_validate(TINY.to_json() | changes))


@pytest.mark.parametrize(
    ("states", "schedules", "at", "words"),
    [
        ([], [], [0], "0 states"),
        ([STATE], [STEPS, STEPS], [0], "1 states and 2 schedules"),
        ([STATE, STATE], [STEPS, hold_schedule(4, 0.5)], [0], "3 to 4 updates"),
        ([STATE], [STEPS], [4], "must increase"),
        ([STATE], [STEPS], [2, 1], "must increase"),
        ([STATE, other(model={"d_model": 16, "d_mlp": 12, "n_heads": 2})], [STEPS, STEPS], [0], "differ in model"),
        ([STATE, other(task={"n_keys": 4, "n_values": 6, "n_pairs": 2})], [STEPS, STEPS], [0], "differ in task"),
        ([STATE, other(training={"batch_size": 9})], [STEPS, STEPS], [0], "differ in batch_size"),
        ([STATE, initial_state(tiny(name="adamw", lr=0.1))], [STEPS, STEPS], [0], "differ in optimizer"),
        ([other(model={"d_model": 8, "d_mlp": 0, "n_heads": 2})], [STEPS], [0], "does not cover"),
        ([other(model={"d_model": 8, "normalization_type": "none"})], [STEPS], [0], "does not cover"),
    ],
)
def test_what_makes_no_ensemble_is_refused_before_any_update(states, schedules, at, words) -> None:
    with pytest.raises(ValueError, match=words):
        trajectory_together(states, schedules, at)


def test_weights_or_moments_of_another_model_are_refused() -> None:
    short = {name: value for name, value in STATE.weights.items() if name != "unembed.b_U"}
    with pytest.raises(ValueError, match=r"unembed\.b_U"):
        together([STATE, replace(STATE, weights=short)], [STEPS, STEPS])
    longer = {**STATE.weights, "unembed.b_U": torch.zeros(99)}
    with pytest.raises(ValueError, match=r"unembed\.b_U"):
        together([STATE, replace(STATE, weights=longer)], [STEPS, STEPS])
    old = aged(tiny(), 2)
    some = {name: held for name, held in old.moments.items() if name != "unembed.b_U"}
    with pytest.raises(ValueError, match=r"unembed\.b_U"):
        together([old, replace(old, moments=some)], [STEPS, STEPS])


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A criterion that anchors of a hundred updates meet, before differences of rounding have grown."""
    bounds = {"EVERY": 10, "TRIALS": 256, "ANSWER_MASS": 0.6, "MARGIN_TOLERANCE": 9.0, "DRIFT_TOLERANCE": 9.0}
    for name, value in bounds.items():
        monkeypatch.setattr(convergence, name, value)


def quick(seed: int, **convergence) -> SetUp:
    return SetUp(
        seed=seed,
        p0=0.5,
        task=TINY.task,
        model=ModelConfig(d_model=32, n_heads=2, d_mlp=32),
        training=TrainingConfig.model_validate(
            {"batch_size": 32, "optimizer": {"lr": 5e-3}, "convergence": {"minimum_age": 20, **convergence}}
        ),
    )


def test_anchors_converge_at_the_step_at_which_each_would_alone(lenient: None) -> None:
    setups = [quick(seed) for seed in range(4)]
    found = dict(train_anchors(setups))
    alone = [train_anchor(setup) for setup in setups]
    assert sorted(found) == [0, 1, 2, 3]
    for place, own in enumerate(alone):
        assert found[place].state.step == own.state.step
        assert found[place].formed_at == own.formed_at
        assert [e.step for e in found[place].evaluations] == [e.step for e in own.evaluations]
        for mine, theirs in zip(found[place].evaluations, own.evaluations, strict=True):
            assert abs(mine.margin - theirs.margin) < 1e-3
    assert len({anchor.state.step for anchor in alone}) > 1  # so that one has left the ensemble before the others
    assert list(found) == sorted(found, key=lambda place: (alone[place].state.step, place))


def test_anchors_that_do_not_converge_are_told_after_the_limit() -> None:
    with pytest.raises(UserError, match=r"anchor of seed 1 has not converged after 60 updates: .*; raise training"):
        list(train_anchors([quick(1, limit=60), quick(2, limit=60)]))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_a_gpu_gives_the_margins_of_the_cpu_and_its_own_bits_again(small_anchor: TrainingState) -> None:
    schedules = paired_schedules(ScheduleConfig(levels=2, dwell=10), 0.5)
    null = paired_schedules(ScheduleConfig(delta=0.0, levels=2, dwell=10), 0.5)
    states = [fork(small_anchor, branch, order) for order in (0, 1) for branch in schedules]
    steps = [*schedules.values(), *null.values()]
    found = together(states, steps, device="cuda")
    assert [s.hash() for s in together(states, steps, device="cuda")] == [s.hash() for s in found]
    assert found[2].hash() == found[3].hash()
    trials = evaluation_trials(small_anchor.task, 256)
    for start, schedule, own in zip(states, steps, found, strict=True):
        assert all(not value.is_cuda for value in tensors(own))
        alone = measured(advance(start, schedule), trials)["margin"]
        np.testing.assert_allclose(measured(own, trials)["margin"], alone, rtol=0, atol=1e-3)
        np.testing.assert_allclose(measured(own, trials, "cuda")["margin"], alone, rtol=0, atol=1e-3)
