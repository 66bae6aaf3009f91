"""Trials of the recall task: what a prompt holds, and that a batch is a pure function of (stream, index)."""

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyst_interp.config import TaskConfig
from hyst_interp.streams import Stream
from hyst_interp.tasks.recall import ROLES, AssociativeRecall
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials, concatenate


@st.composite
def tasks(draw) -> AssociativeRecall:
    pairs = draw(st.integers(1, 7))
    keys = draw(st.integers(pairs + 1, pairs + 8))
    values = draw(st.integers(max(keys, pairs + 2), max(keys, pairs + 2) + 6))
    return AssociativeRecall(TaskConfig(n_keys=keys, n_values=values, n_pairs=pairs), draw(st.integers(0, 50)))


def same(a: Trials, b: Trials) -> bool:
    return all(np.array_equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))


@settings(deadline=None, max_examples=60)
@given(tasks(), st.integers(0, 10**6), st.integers(1, 30))
def test_a_prompt_is_what_the_task_says(task, index, size):
    """Row by row, in plain Python: k1 v1 … kn vn q, distinct keys, c after the queried key, f = π(q), roles, counts."""
    found = task.batch(Stream("anchor", 3), index, size)
    config, n = task.config, task.config.n_pairs
    assert len(found) == size
    assert found.tokens.shape == (size, task.n_ctx)
    assert found.position_labels == (*(f"{kind}{pair + 1}" for pair in range(n) for kind in "kv"), "q")
    for row in range(size):
        tokens = found.tokens[row].tolist()
        keys, values, query = tokens[0:-1:2], tokens[1:-1:2], tokens[-1]
        assert len(set(keys)) == n
        assert all(0 <= key < config.n_keys for key in keys)
        assert all(config.n_keys <= value < config.n_keys + config.n_values for value in values)
        pair = keys.index(query)
        c, f = values[pair], int(task.permutation[query])
        assert (found.query[row], found.queried_pair[row]) == (query, pair)
        assert (found.contextual[row], found.fixed[row]) == (c, f)
        assert found.contextual_count[row] == values.count(c)
        assert found.fixed_present[row] == (f in values)
        assert found.conflict[row] == (c != f)
        roles = [
            name for j in range(n) for name in (("other keys", "other values"), ("queried key", "its value"))[j == pair]
        ]
        assert [ROLES[role] for role in found.roles[row]] == [*roles, "query"]
        assert 0 <= found.uniform[row] < 1
    for role in ROLES:
        np.testing.assert_array_equal(found.role_positions(role), found.roles == ROLES.index(role))


@settings(deadline=None, max_examples=40)
@given(tasks())
def test_the_fixed_rule_gives_each_key_its_own_value(task):
    assert task.permutation.shape == (task.config.n_keys,)
    assert len(set(task.permutation.tolist())) == task.config.n_keys
    assert task.permutation.min() >= task.config.n_keys
    assert task.permutation.max() < task.d_vocab


def test_seeds_have_permutations_of_their_own(small_setup):
    found = {tuple(AssociativeRecall(TaskConfig(), seed).permutation.tolist()) for seed in range(20)}
    assert len(found) == 20
    assert task_of(small_setup).permutation.tolist() == task_of(small_setup).permutation.tolist()


@settings(deadline=None, max_examples=30)
@given(tasks(), st.lists(st.integers(0, 20), min_size=1, max_size=8))
def test_a_batch_is_a_pure_function_of_stream_and_index(task, order):
    stream = Stream("excursion", 1, 2)
    fresh = AssociativeRecall(task.config, task.seed)
    batches = {index: fresh.batch(stream, index, 5) for index in sorted(set(order))}
    assert all(same(task.batch(Stream("excursion", 1, 2), index, 5), batches[index]) for index in order)


def test_other_indices_streams_and_orders_give_other_batches():
    task = AssociativeRecall(TaskConfig(), 0)
    streams = [Stream("excursion", 0, 0), Stream("excursion", 0, 1), Stream("hold", 0, 0), Stream("excursion", 1, 0)]
    found = {task.batch(stream, index, 8).tokens.tobytes() for stream in streams for index in range(5)}
    assert len(found) == 20


@settings(deadline=None, max_examples=25)
@given(tasks(), st.booleans(), st.integers(1, 900), st.integers(1, 900))
def test_fewer_trials_are_a_prefix_of_more(task, conflict, a, b):
    few, many = sorted((a, b))
    stream = Stream("evaluation", 4)
    longer = task.trials(stream, many, conflict)
    assert len(longer) == many
    assert same(task.trials(stream, few, conflict), longer.take(slice(0, few)))
    if conflict:
        assert longer.conflict.all()


def test_conflict_trials_are_the_conflicting_ones_of_the_input_distribution():
    """The prefix reaches across blocks of 1,024, and nothing but the agreeing trials is left out."""
    task, stream = AssociativeRecall(TaskConfig(n_keys=3, n_values=4, n_pairs=2), 0), Stream("evaluation", 4)
    every = task.trials(stream, 2 * 1024, conflict=False)
    wanted = every.take(every.conflict)
    assert 1024 < len(wanted) < len(every)
    assert same(task.trials(stream, len(wanted)), wanted)


def test_no_trials_are_refused(small_setup):
    with pytest.raises(ValueError, match="number of trials is 0"):
        task_of(small_setup).trials(Stream("evaluation", 0), 0)


def test_shares_are_those_of_the_distribution():
    """Default sizes: 15/16 conflict; of these 1 − (15/16)^7 = 36.3 % hold f; pairs are queried equally often.

    n = 20,000, so five standard errors are at most 0.018.
    """
    task = AssociativeRecall(TaskConfig(), 7)
    every = task.trials(Stream("evaluation", 7), 20_000, conflict=False)
    assert abs(every.conflict.mean() - 15 / 16) < 0.009
    conflict = every.take(every.conflict)
    assert abs(conflict.fixed_present.mean() - (1 - (15 / 16) ** 7)) < 0.018
    assert abs((conflict.contextual_count > 1).mean() - (1 - (15 / 16) ** 7)) < 0.018
    for pair in range(8):
        assert abs((every.queried_pair == pair).mean() - 1 / 8) < 0.012
    for key in range(16):
        assert abs((every.query == key).mean() - 1 / 16) < 0.009
    assert abs(every.uniform.mean() - 0.5) < 5 * math.sqrt(1 / 12 / 20_000)


@pytest.fixture(scope="module")
def many() -> Trials:
    return AssociativeRecall(TaskConfig(), 1).trials(Stream("anchor", 1), 4000, conflict=False)


def test_targets_at_the_ends_follow_one_rule(many):
    np.testing.assert_array_equal(many.targets(0.0), many.fixed)
    np.testing.assert_array_equal(many.targets(1.0), many.contextual)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_higher_mixture_only_turns_targets_contextual(many, a, b):
    low, high = sorted((a, b))
    before, after = many.targets(low), many.targets(high)
    moved = (many.uniform >= low) & (many.uniform < high)
    np.testing.assert_array_equal(after[moved], many.contextual[moved])
    np.testing.assert_array_equal(after[~moved], before[~moved])
    conflict = many.conflict
    share = (after == many.contextual)[conflict].mean()
    assert share == (many.uniform[conflict] < high).mean()


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9])
def test_the_share_of_contextual_targets_is_p(many, p):
    """On conflict trials, within five standard errors; on agreeing ones the target is both answers."""
    conflict = many.take(many.conflict)
    share = (conflict.targets(p) == conflict.contextual).mean()
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / len(conflict))
    agreeing = many.take(~many.conflict)
    np.testing.assert_array_equal(agreeing.targets(p), agreeing.contextual)


def test_inputs_do_not_tell_the_target(many):
    """The draw that decides the target is independent of which pair and which key is queried (five standard errors)."""
    for column in (many.queried_pair, many.query, many.contextual):
        for value in np.unique(column):
            drawn = many.uniform[column == value]
            assert abs(drawn.mean() - 0.5) < 5 * math.sqrt(1 / 12 / len(drawn))


@given(st.lists(st.integers(0, 39), min_size=1, max_size=12))
def test_a_selection_of_trials_is_again_trials(many, rows):
    head = many.take(slice(0, 40))
    index = np.array(rows)
    found = head.take(index)
    assert len(found) == len(rows)
    for position, row in enumerate(rows):
        assert same(found.take(slice(position, position + 1)), many.take(slice(row, row + 1)))
    mask = np.isin(np.arange(40), index)
    assert same(head.take(mask), head.take(np.flatnonzero(mask)))


def test_concatenation_undoes_slicing(many):
    parts = [many.take(slice(start, start + 700)) for start in range(0, len(many), 700)]
    assert same(concatenate(parts), many)
    with pytest.raises(ValueError, match="no trials"):
        concatenate([])


def test_what_trials_lack_is_refused(many):
    with pytest.raises(ValueError, match="no twin"):
        _ = many.changed
    with pytest.raises(ValueError, match="role 'keys'"):
        many.role_positions("keys")
