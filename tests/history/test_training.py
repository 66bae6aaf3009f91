"""Training states are values: forks are deep, advancing is pure, and a split or resumed run equals an unbroken one."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.nn import functional

from hyst_interp.config import ModelConfig, OptimizerConfig, ScheduleConfig, SetUp, TaskConfig, TrainingConfig
from hyst_interp.history.advance import advance, trajectory
from hyst_interp.history.optimizer import build_optimizer
from hyst_interp.history.schedule import Schedule, hold_schedule, paired_schedules, tau
from hyst_interp.history.state import TrainingState, fork, initial_state
from hyst_interp.storage.checkpoint import load, save
from hyst_interp.streams import Stream
from hyst_interp.tasks.registry import task_of

NAMES = ("adamw", "adam", "sgd", "momentum")
MOMENTS = {
    "adamw": {"exp_avg", "exp_avg_sq"},
    "adam": {"exp_avg", "exp_avg_sq"},
    "sgd": set(),
    "momentum": {"momentum_buffer"},
}
TINY = SetUp(
    seed=3,
    p0=0.5,
    task=TaskConfig(n_keys=4, n_values=5, n_pairs=2),
    model=ModelConfig(n_layers=2, n_heads=2, d_model=8, d_mlp=12),
    training=TrainingConfig(batch_size=8),
)


def tiny(name: str = "adamw", model: dict | None = None, **optimizer) -> SetUp:
    settings = {"lr": 0.05 if name in ("sgd", "momentum") else 3e-3, **optimizer}
    data = TINY.to_json()
    data["training"]["optimizer"] = {"name": name, **settings}
    data["model"] |= model or {}
    return SetUp.model_validate(data)


def started(setup: SetUp, updates: int = 4) -> TrainingState:
    return advance(initial_state(setup), Schedule(np.full(updates, 0.5), np.arange(updates), "anchor", 0.5))


def tensors(state: TrainingState) -> list[torch.Tensor]:
    return [*state.weights.values(), *(value for found in state.moments.values() for value in found.values())]


def pointers(state: TrainingState) -> set[int]:
    return {value.data_ptr() for value in tensors(state)}


UP = paired_schedules(ScheduleConfig(levels=2, dwell=2), 0.5)["below"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fused", [True, False])
def test_stepping_one_branch_moves_neither_anchor_nor_sibling(name, fused):
    anchor = started(tiny(name, fused=fused))
    assert {key for found in anchor.moments.values() for key in found} == MOMENTS[name]
    before = anchor.hash()
    first, second = fork(anchor, "below", 0), fork(anchor, "above", 0)
    assert not pointers(first) & pointers(anchor)
    assert not pointers(first) & pointers(second)
    kept = second.hash()
    ahead = advance(first, UP)
    assert not pointers(ahead) & pointers(first)
    assert ahead.hash() != kept
    assert (anchor.hash(), second.hash(), first.hash()) == (before, kept, kept)
    for value in tensors(ahead):
        value.add_(1)
    assert (anchor.hash(), second.hash(), first.hash()) == (before, kept, kept)


@pytest.mark.parametrize("name", ["adamw", "adam", "momentum"])
def test_a_shallow_copy_of_the_moments_would_be_seen(name):
    """The trap itself (PyTorch issue 196083): an optimizer on shared moments moves the hash of the anchor."""
    anchor = started(tiny(name))
    before = anchor.hash()
    parameters = dict(anchor.model().named_parameters())
    optimizer = build_optimizer(anchor.setup.training.optimizer, parameters, anchor.moments, anchor.step)
    for key, parameter in parameters.items():
        parameter.grad = torch.ones_like(parameter)
        optimizer.state[parameter].update(anchor.moments[key])
    optimizer.step()
    assert anchor.hash() != before


def test_the_hash_sees_everything_that_the_next_update_depends_on():
    state = started(tiny("adamw"))
    name = "blocks.1.attn.W_V"

    def nudged(tensors: dict) -> dict:
        value = tensors[name].clone()
        value.flatten()[0] = torch.nextafter(value.flatten()[0], torch.tensor(9.0))
        return {**tensors, name: value}

    moved = [
        replace(state, weights=nudged(state.weights)),
        replace(
            state,
            moments={**state.moments, name: {**state.moments[name], "exp_avg": state.moments[name]["exp_avg"] + 1}},
        ),
        replace(state, moments={}),
        replace(state, step=state.step + 1),
        replace(state, position=1),
        replace(state, setup=tiny("adam")),
    ]
    assert len({found.hash() for found in [state, *moved]}) == len(moved) + 1
    turned = {key: state.weights[key] for key in reversed(list(state.weights))}
    assert replace(state, weights=turned).hash() == state.hash()


@pytest.mark.parametrize("clip", [None, 0.05])
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_split_anywhere_equals_the_unbroken_one(name, fused, clip):
    """Bit for bit, moments, step, and clock included."""
    start = fork(started(tiny(name, fused=fused, clip_norm=clip), 2), "below", 0)
    schedule = UP.take(slice(0, 6))
    whole = advance(start, schedule)
    for split in (0, 2, 6):
        halves = advance(advance(start, schedule.take(slice(0, split))), schedule.take(slice(split, None)))
        assert halves.hash() == whole.hash()
        assert (halves.step, halves.position, halves.tau) == (whole.step, whole.position, whole.tau) == (8, 6, 0)
        assert all(map(torch.equal, tensors(halves), tensors(whole)))
    one_by_one = start
    for step in range(6):
        one_by_one = advance(one_by_one, schedule.take(slice(step, step + 1)))
    assert one_by_one.hash() == whole.hash()


@pytest.mark.parametrize("model", [{"d_mlp": 0}, {"normalization_type": "none"}, {"act_fn": "gelu_new"}], ids=str)
def test_models_outside_the_fast_forward_train_alike(model):
    start = started(tiny("adamw", model=model), 2)
    whole = advance(start, UP)
    assert advance(advance(start, UP.take(slice(0, 3))), UP.take(slice(3, None))).hash() == whole.hash()
    assert whole.weights_hash() != start.weights_hash()


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_resumed_equals_uninterrupted(name, tmp_path):
    start = fork(started(tiny(name, clip_norm=0.5)), "above", 1)
    whole = advance(start, UP)
    for split in (0, 3):
        save(advance(start, UP.take(slice(0, split))), tmp_path / str(split))
        resumed = advance(load(tmp_path / str(split)).state(), UP.take(slice(split, None)))
        assert resumed.hash() == whole.hash()
        assert (resumed.branch, resumed.order, resumed.tau) == ("above", 1, whole.tau)


@pytest.mark.parametrize("name", ["adamw", "momentum"])
def test_forgetting_the_moments_or_the_step_would_be_seen(name):
    start = started(tiny(name))
    whole = advance(start, UP)
    assert advance(replace(start, moments={}), UP).weights_hash() != whole.weights_hash()
    if name == "adamw":
        assert advance(replace(start, step=0), UP).weights_hash() != whole.weights_hash()


def test_without_an_excursion_the_branches_are_equal_bit_for_bit():
    """The exact null, and its controls: an excursion, another order, and independent batches all differ."""
    anchor = started(tiny())

    def ends(**config) -> list[TrainingState]:
        pair = paired_schedules(ScheduleConfig(levels=2, dwell=2, **config), 0.5)
        return [advance(fork(anchor, branch, 0), schedule) for branch, schedule in pair.items()]

    below, above = ends(delta=0.0)
    assert below.hash() == above.hash()
    other = advance(
        fork(anchor, "below", 1), paired_schedules(ScheduleConfig(levels=2, dwell=2, delta=0.0), 0.5)["below"]
    )
    assert other.hash() != below.hash()
    for config in ({"delta": 0.4}, {"delta": 0.0, "pairing": "independent"}):
        below, above = ends(**config)
        assert below.weights_hash() != above.weights_hash()


def test_snapshots_along_a_schedule_equal_separate_runs():
    start = fork(started(tiny()), "below", 0)
    at = [0, 1, 4, 9, 16]
    snapshots = list(trajectory(start, UP, at))
    assert len(snapshots) == len(at)
    for position, found in zip(at, snapshots, strict=True):
        assert found.hash() == advance(start, UP.take(slice(0, position))).hash()
        assert (found.position, found.step) == (position, start.step + position)
    for first, second in pairwise(snapshots):
        assert not pointers(first) & pointers(second)
    assert snapshots[0].hash() == start.hash()


def test_a_snapshot_can_be_changed_without_touching_the_run():
    start = fork(started(tiny()), "below", 0)
    whole = advance(start, UP)
    for found in trajectory(start, UP, [0, 5, len(UP)]):
        last = found.hash()
        for value in tensors(found):
            value.zero_()
    assert last == whole.hash()


@pytest.mark.parametrize("at", [[3, 2], [1, 1], [-1], [17], [0, 99]])
def test_impossible_positions_are_refused_before_any_update(at):
    with pytest.raises(ValueError, match="must increase within 0 … 16"):
        trajectory(started(tiny(), 1), UP, at)


def test_the_clock_runs_on_through_the_hold():
    """Position counts from the fork, step from initialisation, τ from the last update away from p0."""
    anchor = started(tiny(), 3)
    assert (anchor.step, anchor.position, anchor.tau) == (3, 0, None)
    branch = fork(anchor, "below", 0)
    assert (branch.step, branch.position, branch.tau) == (3, 0, None)
    clock = tau(UP.p, 0.5)
    for position, found in enumerate(trajectory(branch, UP, range(len(UP) + 1))):
        expected = None if np.isnan(clock[position]) else int(clock[position])
        assert (found.position, found.step, found.tau) == (position, 3 + position, expected)
    arrived = advance(branch, UP)
    assert arrived.tau == 2
    held = advance(arrived, hold_schedule(5, 0.5))
    assert (held.position, held.step, held.tau) == (len(UP) + 5, 3 + len(UP) + 5, 7)
    still = advance(fork(anchor, "below", 0), hold_schedule(5, 0.5))
    assert (still.position, still.tau) == (5, None)


def test_branches_and_holds_have_data_of_their_order():
    """Two orders see other excursions and other holds; the two branches of one order see the same hold."""
    anchor = started(tiny())
    ends = {
        (order, role): advance(fork(anchor, "below", order), Schedule(np.full(3, 0.5), np.arange(3), role, 0.5))
        for order in (0, 1)
        for role in ("excursion", "hold")
    }
    assert len({state.weights_hash() for state in ends.values()}) == 4
    above = advance(fork(anchor, "above", 0), hold_schedule(3, 0.5))
    assert above.weights_hash() == ends[0, "hold"].weights_hash()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("adamw", {"weight_decay": 0.1}),
        ("adam", {"weight_decay": 0.01, "fused": False}),
        ("sgd", {"lr": 0.2}),
        ("momentum", {"lr": 0.05, "clip_norm": 0.3}),
    ],
)
def test_a_plain_torch_loop_reaches_the_same_weights(name, settings):
    """The oracle: HookedTransformer's full forward, torch.optim, targets from the draws; b_K is left out."""
    setup = tiny(name, **settings)
    config, task = setup.training.optimizer, task_of(setup)
    start = initial_state(setup)
    model = start.model()
    trained = {key: parameter for key, parameter in model.named_parameters() if not key.endswith(".b_K")}
    kinds = {
        "adamw": lambda p: torch.optim.AdamW(p, config.lr, config.betas, config.eps, config.weight_decay),
        "adam": lambda p: torch.optim.Adam(p, config.lr, config.betas, config.eps, config.weight_decay),
        "sgd": lambda p: torch.optim.SGD(p, config.lr, weight_decay=config.weight_decay),
        "momentum": lambda p: torch.optim.SGD(p, config.lr, config.momentum, weight_decay=config.weight_decay),
    }
    optimizer = kinds[name](list(trained.values()))
    schedule = Schedule(np.linspace(0.2, 0.8, 25), np.arange(25)[::-1].copy(), "anchor", 0.5)
    for p, index in zip(schedule.p, schedule.batch, strict=True):
        batch = task.batch(Stream("anchor", setup.seed), int(index), 8)
        targets = [c if u < p else f for c, f, u in zip(batch.contextual, batch.fixed, batch.uniform, strict=True)]
        loss = functional.cross_entropy(model(torch.from_numpy(batch.tokens))[:, -1], torch.tensor(targets))
        optimizer.zero_grad()
        loss.backward()
        if config.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(trained.values(), config.clip_norm)
        optimizer.step()
    found = advance(start, schedule)
    for key, parameter in trained.items():
        moved = float((parameter - start.weights[key]).detach().norm())
        assert moved > 1e-3, key
        assert float((parameter - found.weights[key]).detach().norm()) < 1e-3 * moved, key
    for key, value in found.weights.items():
        if key.endswith(".b_K"):
            assert torch.equal(value, torch.zeros_like(value))


def test_clipping_bounds_the_update():
    """Plain SGD without decay moves by exactly lr · clip_norm once the gradient is longer than that."""
    setup = tiny("sgd", lr=0.5, weight_decay=0.0, clip_norm=1e-3)
    start = initial_state(setup)
    found = advance(start, Schedule(np.array([0.5]), np.array([0]), "anchor", 0.5))
    squares = sum(float((found.weights[k].double() - start.weights[k].double()).pow(2).sum()) for k in start.weights)
    assert abs(squares**0.5 - 0.5e-3) < 1e-6


def test_moments_of_another_model_are_refused():
    state = started(tiny("adamw"))
    parameters = dict(initial_state(tiny("adamw", model={"n_layers": 1})).model().named_parameters())
    with pytest.raises(ValueError, match=r"'blocks.1.*' is on one side only"):
        build_optimizer(OptimizerConfig(), parameters, state.moments, 4)
