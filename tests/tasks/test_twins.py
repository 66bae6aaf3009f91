"""Twins obey their definitions, whatever the sizes of the task and whatever stands beside a trial in its batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyst_interp.config import TaskConfig
from hyst_interp.streams import Stream
from hyst_interp.tasks.recall import AssociativeRecall
from hyst_interp.tasks.trials import Trials

KINDS = ("value", "rename", "query")


@st.composite
def cases(draw, spare_keys: int = 3) -> tuple[TaskConfig, int, int, bool]:
    """Sizes down to the smallest that allow every twin: V = pairs + 2 where K leaves it free."""
    pairs = draw(st.integers(2, 7))
    keys = draw(st.integers(pairs + spare_keys, pairs + spare_keys + 4))
    values = draw(st.integers(max(keys, pairs + 2), max(keys, pairs + 2) + 4))
    config = TaskConfig(n_keys=keys, n_values=values, n_pairs=pairs)
    return config, draw(st.integers(0, 30)), draw(st.integers(0, 30)), draw(st.booleans())


def made(case: tuple[TaskConfig, int, int, bool]) -> tuple[AssociativeRecall, Trials]:
    """A task and 40 of its trials (outside the strategy, where beartype may draw)."""
    config, seed, stream, conflict = case
    task = AssociativeRecall(config, seed)
    return task, task.trials(Stream("evaluation", stream), 40, conflict)


@settings(deadline=None, max_examples=60)
@given(cases(spare_keys=1))
def test_value_twin(case):
    """Only the value after the queried key changes, to one that is neither c, f, nor any value of the prompt."""
    task, trials = made(case)
    twin = task.twin(trials, "value")
    for row in range(len(trials)):
        before, after = trials.tokens[row].tolist(), twin.corrupted[row].tolist()
        place = 2 * int(trials.queried_pair[row]) + 1
        assert [i for i in range(len(before)) if before[i] != after[i]] == [place]
        assert task.config.n_keys <= after[place] < task.d_vocab
        assert after[place] not in (trials.contextual[row], trials.fixed[row], *before[1:-1:2])
        assert task.permutation[after[-1]] == trials.fixed[row]


@settings(deadline=None, max_examples=60)
@given(cases())
def test_rename_twin(case):
    """The queried key changes at its pair and at the query, to one outside the prompt with π(new) ∉ {c, f}; c stays."""
    task, trials = made(case)
    twin = task.twin(trials, "rename")
    for row in range(len(trials)):
        before, after = trials.tokens[row].tolist(), twin.corrupted[row].tolist()
        pair = int(trials.queried_pair[row])
        assert [i for i in range(len(before)) if before[i] != after[i]] == [2 * pair, len(before) - 1]
        new = after[-1]
        assert after[2 * pair] == new
        assert 0 <= new < task.config.n_keys
        assert new not in before
        assert task.permutation[new] not in (trials.contextual[row], trials.fixed[row])
        assert after[2 * pair + 1] == trials.contextual[row]


@settings(deadline=None, max_examples=60)
@given(cases())
def test_query_twin(case):
    """Another key of the prompt is queried; nothing else changes."""
    task, trials = made(case)
    twin = task.twin(trials, "query")
    for row in range(len(trials)):
        before, after = trials.tokens[row].tolist(), twin.corrupted[row].tolist()
        assert after[:-1] == before[:-1]
        assert after[-1] != before[-1]
        assert after[-1] in before[0:-1:2]
        assert task.permutation[after[-1]] != trials.fixed[row]


@settings(deadline=None, max_examples=40)
@given(cases(), st.sampled_from(KINDS), st.lists(st.integers(0, 39), min_size=1, max_size=10))
def test_a_twin_does_not_depend_on_its_batch(case, kind, rows):
    """The twin of a selection is the selection of the twins; one by one equals batched."""
    task, trials = made(case)
    batched = task.twin(trials, kind).corrupted
    np.testing.assert_array_equal(task.twin(trials.take(np.array(rows)), kind).corrupted, batched[rows])
    for row in rows[:4]:
        np.testing.assert_array_equal(task.twin(trials.take(slice(row, row + 1)), kind).corrupted[0], batched[row])


@settings(deadline=None, max_examples=30)
@given(cases(), st.sampled_from(KINDS))
def test_a_twin_leaves_the_trial_as_it_was(case, kind):
    task, trials = made(case)
    tokens = trials.tokens.copy()
    twin = task.twin(trials, kind)
    np.testing.assert_array_equal(trials.tokens, tokens)
    assert trials.corrupted is None
    assert twin.twin == kind
    np.testing.assert_array_equal(twin.tokens, tokens)
    assert not np.shares_memory(twin.corrupted, twin.tokens)
    np.testing.assert_array_equal(twin.changed, twin.corrupted != tokens)
    for name in ("contextual", "fixed", "query", "uniform"):
        np.testing.assert_array_equal(getattr(twin, name), getattr(trials, name))


@pytest.mark.parametrize("kind", KINDS)
def test_every_allowed_replacement_is_taken_and_equally_often(kind):
    """One prompt under 4,000 draws: the replacements that plain Python allows, each within five standard errors."""
    task = AssociativeRecall(TaskConfig(n_keys=8, n_values=9, n_pairs=3), 0)
    draws = task.trials(Stream("evaluation", 0), 4000).uniform
    trials = task.trials(Stream("evaluation", 1), 1).take(np.zeros(4000, dtype=int))
    object.__setattr__(trials, "uniform", draws)
    tokens, c, f = trials.tokens[0].tolist(), int(trials.contextual[0]), int(trials.fixed[0])
    allowed = {
        "value": [v for v in range(8, 17) if v not in (c, f, *tokens[1:-1:2])],
        "rename": [k for k in range(8) if k not in tokens and task.permutation[k] not in (c, f)],
        "query": [k for k in tokens[0:-1:2] if k != tokens[-1]],
    }[kind]
    place = 2 * int(trials.queried_pair[0]) + 1 if kind == "value" else -1
    taken = task.twin(trials, kind).corrupted[:, place]
    assert sorted(set(taken.tolist())) == allowed
    assert len(allowed) >= 2
    share = 1 / len(allowed)
    for option in allowed:
        assert abs((taken == option).mean() - share) < 5 * np.sqrt(share * (1 - share) / 4000)


def test_the_smallest_vocabulary_has_exactly_one_value_left():
    """V = pairs + 2: where the prompt holds all different values without f, one replacement remains."""
    task = AssociativeRecall(TaskConfig(n_keys=4, n_values=5, n_pairs=3), 0)
    trials = task.trials(Stream("evaluation", 0), 500)
    full = np.array([len({*row[1:-1:2].tolist(), f}) == 4 for row, f in zip(trials.tokens, trials.fixed, strict=True)])
    assert full.any()
    tight = task.twin(trials.take(full), "value")
    for row in range(len(tight)):
        (left,) = set(range(4, 9)) - set(tight.tokens[row].tolist()) - {int(tight.fixed[row])}
        assert tight.corrupted[row, 2 * tight.queried_pair[row] + 1] == left


def test_too_few_keys_to_rename_is_one_clear_error():
    """K = pairs + 1 leaves one key outside the prompt; where its π is c, no rename exists."""
    task = AssociativeRecall(TaskConfig(n_keys=4, n_values=5, n_pairs=3), 0)
    trials = task.trials(Stream("evaluation", 0), 200)
    outside = [(set(range(4)) - set(row[0:-1:2].tolist())).pop() for row in trials.tokens]
    blocked = task.permutation[outside] == trials.contextual
    assert 0 < blocked.sum() < 200
    with pytest.raises(ValueError, match=f"^{blocked.sum()} of 200 trials allow no twin .* more keys") as error:
        task.twin(trials, "rename")
    assert "\n" not in str(error.value)
    assert task.twin(trials.take(~blocked), "rename").changed.sum() == 2 * (~blocked).sum()


def test_one_pair_has_no_query_twin():
    task = AssociativeRecall(TaskConfig(n_keys=4, n_values=5, n_pairs=1), 0)
    trials = task.trials(Stream("evaluation", 0), 10)
    with pytest.raises(ValueError, match="10 of 10 trials allow no twin"):
        task.twin(trials, "query")


def test_an_unknown_twin_is_refused():
    task = AssociativeRecall(TaskConfig(), 0)
    with pytest.raises(ValueError, match="twin 'position' does not exist; use one of value, rename, query"):
        task.twin(task.trials(Stream("evaluation", 0), 2), "position")
