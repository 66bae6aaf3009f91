"""Transplants: exact controls (0 updates, own/own, plain SGD, planted moments), ages, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.config import ModelConfig, ScheduleConfig, SetUp, TaskConfig, TrainingConfig
from hyst_interp.errors import UserError
from hyst_interp.history.advance import advance, trajectory
from hyst_interp.history.schedule import Schedule, hold_schedule, paired_schedules
from hyst_interp.history.state import fork, initial_state
from hyst_interp.questions.transplant.decomposition import decomposition
from hyst_interp.questions.transplant.measure import transplant
from hyst_interp.questions.transplant.optimizer_cells import CELLS, WHAT, kept_moments, transplanted
from hyst_interp.study.train_branch import margins_of

NAMES = ("adamw", "adam", "momentum", "sgd")
UPDATES = (0, 1, 4)
SETUP = SetUp(
    seed=5,
    p0=0.5,
    task=TaskConfig(n_keys=4, n_values=5, n_pairs=2),
    model=ModelConfig(n_layers=2, n_heads=2, d_model=8, d_mlp=12),
    training=TrainingConfig(batch_size=16),
)


def made(name: str, order: int = 0, seed: int = 5, **settings):
    """(below, above, anchor) of a short history under one optimizer."""
    data = SETUP.to_json() | {"seed": seed}
    data["training"]["optimizer"] = {"name": name, "lr": 0.05 if name in ("sgd", "momentum") else 3e-3, **settings}
    setup = SetUp.model_validate(data)
    anchor = advance(initial_state(setup), Schedule(np.full(6, 0.5), np.arange(6), "anchor", 0.5))
    pair = paired_schedules(ScheduleConfig(levels=2, dwell=2), 0.5)
    return *(advance(fork(anchor, branch, order), schedule) for branch, schedule in pair.items()), anchor


@pytest.fixture(scope="module", params=NAMES)
def case(request):
    """(below, above, anchor, trials, the transplant) under every optimizer."""
    below, above, anchor = made(request.param)
    trials = evaluation_trials(below.task, 24)
    return below, above, anchor, trials, transplant(below, above, anchor, UPDATES, trials)


@pytest.fixture(scope="module")
def adam():
    """(below, above, anchor, trials) under AdamW."""
    below, above, anchor = made("adamw")
    return below, above, anchor, evaluation_trials(below.task, 24)


def largest(array) -> float:
    return float(np.abs(np.asarray(array)).max())


def test_own_moments_on_own_weights_are_the_untouched_run_byte_for_byte(case):
    below, above, anchor, trials, found = case
    for own, other in ((below, above), (above, below)):
        start = transplanted(own, other, anchor, "own")
        assert start.hash() == own.hash()
        assert advance(start, hold_schedule(4, 0.5)).hash() == advance(own, hold_schedule(4, 0.5)).hash()
        untouched = np.stack([margins_of(state, trials) for state in trajectory(own, hold_schedule(4, 0.5), UPDATES)])
        margins = found["margin"].sel(weights=own.branch, optimizer="own").values
        assert margins.tobytes() == untouched.tobytes()


def test_at_no_updates_every_optimizer_state_answers_alike(case):
    *_, found = case
    start = found["margin"].sel(update=0)
    assert largest(start - start.sel(optimizer="own")) == 0
    assert largest(start.sel(weights="below") - start.sel(weights="above")) > 0
    parts = decomposition(found).sel(update=0)
    for name in ("optimizer", "interaction", "moments", "pairwise"):
        assert largest(parts[name]) == 0, name
    assert (parts["weights"] == parts["gap"]).all()


def test_the_optimizer_has_an_effect_exactly_where_it_keeps_something(case):
    below, *_, found = case
    later = found["margin"].sel(update=[1, 4])
    parts = decomposition(found).sel(update=[1, 4])
    kept = kept_moments(below.setup.training.optimizer)
    if not kept:
        assert largest(later - later.sel(optimizer="own")) == 0
        for name in ("optimizer", "interaction", "moments", "pairwise"):
            assert largest(parts[name]) == 0, name
        assert (parts["weights"] == parts["gap"]).all()
        return
    for update in (1, 4):
        assert largest(parts["optimizer"].sel(update=update)) > 0
        for cell in ("other", "first moment", "anchor", "reset", "zeroed"):
            one = later.sel(update=update)
            assert largest(one.sel(optimizer=cell) - one.sel(optimizer="own")) > 0, cell
    second = largest(later.sel(optimizer="second moment") - later.sel(optimizer="own"))
    assert (second > 0) == (len(kept) == 2)


@pytest.mark.parametrize("name", ["adamw", "momentum"])
def test_a_planted_difference_in_momentum_alone_goes_wholly_to_the_optimizer(name):
    below, above, anchor = made(name)
    first = kept_moments(below.setup.training.optimizer)[0]
    moments = {key: {**kept, first: above.moments[key][first]} for key, kept in below.moments.items()}
    twin = replace(below, branch="above", moments=moments)
    assert twin.weights_hash() == below.weights_hash()
    parts = decomposition(transplant(below, twin, anchor, UPDATES, evaluation_trials(below.task, 24)))
    assert largest(parts["gap"].sel(update=0)) == 0
    for update in (1, 4):
        here = parts.sel(update=update)
        assert largest(here["gap"]) > 0
        assert (here["optimizer"] == here["gap"]).all()
        assert (here["moments"].sel(moment="first moment") == here["gap"]).all()
        np.testing.assert_allclose(here["shapley"].sel(factor="first moment"), here["gap"], rtol=1e-12)
    for array in (
        parts["weights"],
        parts["interaction"],
        parts["moments"].sel(moment="second moment"),
        parts["shapley"].sel(factor=["weights", "second moment"]),
        parts["shared"],
    ):
        assert largest(array) == 0


def test_a_planted_difference_in_the_second_moment_alone_is_told_apart(adam):
    below, above, anchor, trials = adam
    moments = {key: {**kept, "exp_avg_sq": above.moments[key]["exp_avg_sq"] * 4} for key, kept in below.moments.items()}
    parts = decomposition(transplant(below, replace(below, branch="above", moments=moments), anchor, (0, 3), trials))
    assert largest(parts["gap"].sel(update=3)) > 0
    assert (parts["moments"].sel(moment="second moment") == parts["gap"]).all()
    assert largest(parts["moments"].sel(moment="first moment")) == largest(parts["weights"]) == 0


def test_a_difference_in_weights_alone_goes_to_the_weights_at_no_updates_and_to_no_moment_ever(adam):
    below, above, anchor, trials = adam
    parts = decomposition(transplant(below, replace(above, moments=below.moments), anchor, (0, 4), trials))
    assert (parts["weights"] == parts["gap"]).all()
    assert largest(parts["gap"].sel(update=4)) > 0
    assert largest(parts["optimizer"]) == largest(parts["moments"]) == 0


def test_every_cell_states_its_age(case):
    below, _, anchor, _, found = case
    ages = {str(cell): set(found["step"].sel(optimizer=cell).values.tolist()) for cell in found["optimizer"].values}
    own = {below.step}
    assert ages == dict.fromkeys(CELLS, own) | {"anchor": {anchor.step}, "reset": {0}}
    assert [str(text) for text in found["what"].values] == [WHAT[cell] for cell in CELLS]


def test_ages_stay_apart_where_seeds_are_stacked_as_results_are(case):
    *_, found = case
    older = found.assign(step=found["step"] + 7)
    both = xr.concat([found, older], dim="seed", coords="minimal", compat="override", join="exact")
    assert (both["step"].isel(seed=1) - both["step"].isel(seed=0) == 7).all()
    assert largest(decomposition(both)["gap"].isel(seed=1) - decomposition(found)["gap"]) == 0


def test_every_cell_holds_the_moments_that_it_names(adam):
    below, above, anchor, _ = adam
    sources = {
        "own": (below, below),
        "other": (above, above),
        "first moment": (above, below),
        "second moment": (below, above),
        "anchor": (anchor, anchor),
    }
    for cell, (first, second) in sources.items():
        found = transplanted(below, above, anchor, cell)
        for key, kept in found.moments.items():
            assert torch.equal(kept["exp_avg"], first.moments[key]["exp_avg"]), (cell, key)
            assert torch.equal(kept["exp_avg_sq"], second.moments[key]["exp_avg_sq"]), (cell, key)
    assert transplanted(below, above, anchor, "reset").moments == {}
    zeroed = transplanted(below, above, anchor, "zeroed").moments
    assert zeroed.keys() == below.moments.keys()
    assert all(largest(value) == 0 for kept in zeroed.values() for value in kept.values())
    assert all(transplanted(below, above, anchor, cell).weights is below.weights for cell in CELLS)


def test_emptied_moments_step_by_their_age():
    """Adam's first update from m = v = 0 at age t − 1: lr · (0.1 / (1 − 0.9ᵗ)) / √(0.001 / (1 − 0.999ᵗ)) · sign(g)."""
    below, above, anchor = made("adam", weight_decay=0.0, lr=1e-3)
    lengths = {}
    for cell in ("reset", "zeroed"):
        start = transplanted(below, above, anchor, cell)
        end = advance(start, hold_schedule(1, 0.5))
        assert end.step == start.step + 1
        moved = torch.cat([(end.weights[key] - start.weights[key]).flatten().abs() for key in start.weights])
        lengths[cell] = float(moved.double().median())
    age = below.step + 1
    assert lengths["reset"] == pytest.approx(1e-3, rel=1e-3)
    expected = 1e-3 * (0.1 / (1 - 0.9**age)) / np.sqrt(0.001 / (1 - 0.999**age))
    assert lengths["zeroed"] == pytest.approx(expected, rel=1e-3)
    assert abs(lengths["zeroed"] / lengths["reset"] - 1) > 0.1


def test_an_empty_momentum_buffer_has_no_age():
    below, above, anchor = made("momentum")
    ends = [
        advance(transplanted(below, above, anchor, cell), hold_schedule(3, 0.5)).weights_hash()
        for cell in ("reset", "zeroed", "own")
    ]
    assert ends[0] == ends[1] != ends[2]


def test_nothing_that_goes_in_is_changed(adam):
    below, above, anchor, trials = adam
    before = [state.hash() for state in (below, above, anchor)]
    found = [transplant(below, above, anchor, (1,), trials)["margin"].values.tobytes() for _ in range(2)]
    assert [state.hash() for state in (below, above, anchor)] == before
    assert found[0] == found[1]


def test_the_hold_goes_on_where_the_states_stand(adam):
    below, above, anchor, trials = adam
    later = [advance(state, hold_schedule(3, 0.5)) for state in (below, above)]
    whole = np.stack([margins_of(advance(state, hold_schedule(5, 0.5)), trials) for state in (below, above)])
    found = [
        transplant(*later, anchor, (2,), trials, hold=hold)["margin"].sel(optimizer="own", update=2).values
        for hold in (3, 0)
    ]
    assert found[0].tobytes() == whole.tobytes()
    assert found[1].tobytes() != whole.tobytes()


def bare(state):
    return replace(state, moments={})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b, a, n: (bare(b), a, n), ("from below", "needs checkpoints with optimizer state", "save_optimizer")),
        (lambda b, a, n: (b, bare(a), n), ("from above", "needs checkpoints with optimizer state")),
        (lambda b, a, n: (b, a, bare(n)), ("the anchor", "needs checkpoints with optimizer state")),
        (lambda b, a, n: (a, b, n), ("from above", "give from below first")),
        (lambda b, a, n: (b, replace(a, order=1), n), ("order 0 and 1",)),
        (lambda b, a, n: (b, replace(a, position=3), n), ("position", "3")),
        (lambda b, a, n: (b, replace(a, step=3), n), ("step", "3")),
        (lambda b, a, n: (b, replace(a, setup=a.setup.model_copy(update={"seed": 6})), n), ("seeds 5, 6, and 5",)),
        (lambda b, a, n: (b, a, replace(n, step=4)), ("left their anchor at step 6", "this anchor is at 4")),
        (lambda b, a, n: (b, a, b), ("the anchor comes from below",)),
    ],
)
def test_states_that_cannot_be_exchanged_are_refused_before_any_update(adam, one_sentence, change, words):
    below, above, anchor, trials = adam
    with pytest.raises(UserError) as caught:
        transplant(*change(below, above, anchor), (0, 10**9), trials)
    one_sentence(caught.value, *words)


@pytest.mark.parametrize("updates", [(), (-1, 2), (3, 1), (1, 1)])
def test_impossible_updates_are_refused(adam, one_sentence, updates):
    below, above, anchor, trials = adam
    with pytest.raises(UserError) as caught:
        transplant(below, above, anchor, updates, trials)
    one_sentence(caught.value, "increasing numbers from 0 on")


def test_plain_sgd_needs_no_moments():
    below, above, anchor = made("sgd")
    assert below.moments == {}
    assert transplant(below, above, anchor, (0,), evaluation_trials(below.task, 8)).attrs["moments"] == "none"
