"""The convergence criterion, part by part, and the guard around training."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from hyst_interp.config import ModelConfig, SetUp, TaskConfig, TrainingConfig
from hyst_interp.errors import UserError
from hyst_interp.history import convergence
from hyst_interp.history.advance import advance
from hyst_interp.history.convergence import Evaluation, complaint, evaluate, formed_at, train_anchor
from hyst_interp.history.guard import one_thread
from hyst_interp.history.schedule import Schedule
from hyst_interp.history.state import initial_state
from hyst_interp.streams import Stream
from hyst_interp.tasks.registry import task_of

P0 = 0.6
TARGET = math.log(0.6 / 0.4)


def history(margins: list[float], mass: float = 0.98, p: float = 0.5, first: int = 50) -> list[Evaluation]:
    return [Evaluation(first + 50 * i, margin, p, mass) for i, margin in enumerate(margins)]


GOOD = history([TARGET] * 30)


def test_nothing_is_wrong_with_a_converged_anchor():
    assert complaint(GOOD, P0, 1000) is None
    assert formed_at(GOOD, P0) == 50


def test_every_criterion_has_its_complaint_alone():
    def last(**changes) -> list[Evaluation]:
        return [*GOOD[:-5], *(replace(e, **changes) for e in GOOD[-5:])]

    drift = [TARGET + 0.04 * i for i in (-2, -1, 0, 1, 2)]
    cases = {
        "the contextual route has not formed": [replace(e, p_contextual=P0 / 2 - 1e-9) for e in GOOD],
        "younger than 1000": GOOD[:20],
        "the answer mass is 0.969": last(answer_mass=0.969),
        "the mean margin is": last(margin=TARGET + 0.151),
        "the mean margin is ": last(margin=TARGET - 0.151),
        "the margin drifts by +0.160": [*GOOD[:-5], *history(drift, first=1300)],
        "the margin drifts by -0.160": [*GOOD[:-5], *history(drift[::-1], first=1300)],
    }
    for text, evaluations in cases.items():
        assert text in (complaint(evaluations, P0, 1000) or "")
    assert complaint(GOOD[:4], P0, 0) == "there are only 4 evaluations"


def test_just_inside_every_bound_is_accepted():
    def window(*margins: float) -> list[Evaluation]:
        return [*GOOD[:-5], *history(list(margins), first=1300)]

    assert complaint([*GOOD[:-5], *(replace(e, answer_mass=0.97) for e in GOOD[-5:])], P0, 1000) is None
    assert complaint(window(*[TARGET + 0.149] * 5), P0, 1000) is None
    assert complaint(window(*[TARGET - 0.149] * 5), P0, 1000) is None
    assert complaint(window(*(TARGET + 0.037 * i for i in (-2, -1, 0, 1, 2))), P0, 1000) is None
    assert complaint([replace(e, p_contextual=P0 / 2) for e in GOOD], P0, 1000) is None
    assert complaint(GOOD[:21], P0, 1000) is None
    assert complaint(GOOD[:5], P0, 200) is None


def test_one_bad_mass_in_the_window_is_enough_and_before_it_none_counts():
    for place in range(1, 6):
        evaluations = list(GOOD)
        evaluations[-place] = replace(GOOD[-place], answer_mass=0.9)
        assert "answer mass is 0.900" in (complaint(evaluations, P0, 1000) or "")
    early = [*(replace(e, answer_mass=0.1, margin=-9.0) for e in GOOD[:-5]), *GOOD[-5:]]
    assert complaint(early, P0, 1000) is None


def test_the_drift_is_the_fitted_line_over_the_window():
    """Least squares over five points by its closed form, Σ i·m_i / 10 a step, four steps."""
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        noise = random.normal(0, 0.12, 5)
        noise -= noise.mean()
        drift = 4 * sum(i * m for i, m in zip((-2, -1, 0, 1, 2), noise, strict=True)) / 10
        found = complaint([*GOOD[:-5], *history((TARGET + noise).tolist(), first=1300)], P0, 1000)
        assert (found is not None) == (abs(drift) > 0.15)
        refused += found is not None
    assert 20 < refused < 180


def test_the_route_has_formed_at_the_first_evaluation_above_half_of_p0():
    ps = [0.1, 0.2, 0.31, 0.1, 0.5]
    evaluations = [Evaluation(50 * (i + 1), 0.0, p, 1.0) for i, p in enumerate(ps)]
    assert formed_at(evaluations, 0.6) == 150
    assert formed_at(evaluations, 0.9) == 250
    assert formed_at(evaluations[:2], 0.6) is None


EASY = SetUp(
    seed=0,
    p0=0.5,
    task=TaskConfig(n_keys=2, n_values=3, n_pairs=1),
    model=ModelConfig(n_layers=1, n_heads=1, d_model=16, d_mlp=16),
    training=TrainingConfig.model_validate(
        {"batch_size": 64, "optimizer": {"lr": 0.005}, "convergence": {"minimum_age": 100, "limit": 2000}}
    ),
)


def test_an_evaluation_reads_the_whole_network(small_anchor):
    """Against the model's own forward and a plain softmax."""
    trials = task_of(small_anchor.setup).trials(Stream("convergence", 100), 60)
    logits = small_anchor.model()(torch.from_numpy(trials.tokens))[:, -1].detach().double().numpy()
    rows = np.arange(60)
    chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    c, f = (answer[rows] for answer in (trials.contextual, trials.fixed))
    found = evaluate(small_anchor, trials)
    assert found.step == small_anchor.step == 300
    np.testing.assert_allclose(found.margin, (logits[rows, c] - logits[rows, f]).mean(), atol=1e-4)
    np.testing.assert_allclose(found.p_contextual, chances[rows, c].mean(), atol=1e-5)
    np.testing.assert_allclose(found.answer_mass, (chances[rows, c] + chances[rows, f]).mean(), atol=1e-5)


def test_an_anchor_trains_until_nothing_is_left_to_complain_about(monkeypatch):
    monkeypatch.setattr(convergence, "TRIALS", 256)
    reported = []
    anchor = train_anchor(EASY, reported.append)
    assert tuple(reported) == anchor.evaluations
    assert [e.step for e in reported] == list(range(50, anchor.state.step + 1, 50))
    assert complaint(reported, 0.5, 100) is None
    assert all(complaint(reported[:n], 0.5, 100) for n in range(1, len(reported)))
    assert anchor.formed_at == formed_at(reported, 0.5)
    assert anchor.age == anchor.state.step - anchor.formed_at >= 100
    steps = anchor.state.step
    plain = advance(initial_state(EASY), Schedule(np.full(steps, 0.5), np.arange(steps), "anchor", 0.5))
    assert plain.hash() == anchor.state.hash()


@pytest.mark.parametrize("limit", [50, 120])
def test_an_anchor_that_does_not_converge_is_one_sentence(limit, small_setup, one_sentence, monkeypatch):
    monkeypatch.setattr(convergence, "TRIALS", 64)
    data = small_setup.to_json()
    data["training"]["convergence"]["limit"] = limit
    with pytest.raises(UserError) as error:
        train_anchor(SetUp.model_validate(data))
    one_sentence(error.value, "seed 100", f"after {limit} updates", "training.convergence.limit")


def test_the_guard_sets_one_thread_and_restores_the_callers():
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            with one_thread():
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == threads
            with pytest.raises(RuntimeError, match="planted"), one_thread():
                raise RuntimeError("planted")
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_training_runs_in_one_thread_whatever_the_caller_set(monkeypatch):
    """Also between two snapshots, where the caller's number stands again; and the result does not depend on it."""
    seen = []
    inner = torch.optim.AdamW.step
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda self: (seen.append(torch.get_num_threads()), inner(self))[1])
    schedule = Schedule(np.full(3, 0.5), np.arange(3), "anchor", 0.5)
    before = torch.get_num_threads()
    found = set()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.add(advance(initial_state(EASY), schedule).hash())
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert seen == [1] * 6
    assert len(found) == 1
