"""Streams: a name decides the numbers, nothing else does, and no global generator is read or written."""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import hyst_interp
from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.history.advance import advance
from hyst_interp.history.convergence import evaluate
from hyst_interp.history.schedule import hold_schedule
from hyst_interp.history.state import fork, initial_state
from hyst_interp.streams import ROLES, Stream
from hyst_interp.tasks.registry import task_of

NAMES = st.builds(Stream, st.sampled_from(ROLES), st.integers(0, 10**9), st.one_of(st.none(), st.integers(0, 10**4)))
BLOCKS = st.integers(0, 2**40)


def draws(stream: Stream, index: int = 0, n: int = 16) -> list[int]:
    return stream.generator(index).integers(0, 2**63, n).tolist()


@settings(deadline=None, max_examples=60)
@given(NAMES, BLOCKS)
def test_equal_names_give_equal_numbers(stream, index):
    again = Stream(stream.role, stream.seed, stream.order)
    assert draws(again, index) == draws(stream, index)


@settings(deadline=None, max_examples=100)
@given(NAMES, BLOCKS, NAMES, BLOCKS)
def test_different_names_or_blocks_share_no_number(first, i, second, j):
    if (first, i) != (second, j):
        assert not set(draws(first, i)) & set(draws(second, j))


def test_every_part_of_the_name_counts():
    streams = [Stream(role, seed, order) for role in ROLES for seed in range(12) for order in (None, 0, 1, 2, 11)]
    assert len({stream.key() for stream in streams}) == len(streams)
    assert len({number for stream in streams for number in draws(stream, 0, 4)}) == 4 * len(streams)


def test_neighbouring_blocks_do_not_overlap():
    """A long draw from one block never reaches the next: 2^192 draws lie between them."""
    stream = Stream("anchor", 0)
    long = set(draws(stream, 0, 20_000))
    assert not any(set(draws(stream, index, 1000)) & long for index in range(1, 20))


def test_a_block_does_not_depend_on_what_was_drawn_before():
    stream = Stream("hold", 3, 1)
    expected = {index: draws(stream, index) for index in range(6)}
    order = [4, 0, 5, 5, 2, 1, 3, 0]
    for index in order:
        stream.generator(index).random(int(index) * 7)
        assert draws(stream, index) == expected[index]


def test_the_numbers_are_uniform():
    values = np.concatenate([Stream("evaluation", seed).generator(7).random(1000) for seed in range(20)])
    counts = np.histogram(values, bins=10, range=(0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 33.7  # χ² with 9 degrees of freedom, p = 1e-4


@pytest.mark.parametrize(("role", "seed", "words"), [("evaluations", 0, "evaluations"), ("hold", -1, "-1")])
def test_an_impossible_name_is_refused(role, seed, words):
    with pytest.raises(ValueError, match=words):
        Stream(role, seed)


def global_states() -> tuple[bytes, str, bytes]:
    """Python's own generator is left out here, because beartype draws from it while it checks types."""
    numbers = np.random.get_state()
    return numbers[1].tobytes(), str(numbers[2:]), torch.get_rng_state().numpy().tobytes()


def test_the_global_generators_are_neither_written_nor_read(small_setup):
    def everything(seed: int) -> tuple[str, float]:
        np.random.seed(seed)
        torch.manual_seed(seed)
        before = global_states()
        state = advance(initial_state(small_setup), hold_schedule(3, 0.5))
        branch = advance(fork(state, "below", 0), hold_schedule(2, 0.5))
        found = evaluate(branch, evaluation_trials(task_of(small_setup), 40))
        assert global_states() == before
        return branch.hash(), found.margin

    numbers, torch_numbers = np.random.get_state(), torch.get_rng_state()
    try:
        assert everything(1) == everything(2)
    finally:
        np.random.set_state(numbers)
        torch.set_rng_state(torch_numbers)


@pytest.mark.parametrize("draw", [lambda: torch.rand(1), lambda: np.random.rand()])
def test_a_draw_from_a_global_generator_would_be_seen(draw):
    before = global_states()
    draw()
    assert global_states() != before


def test_no_module_uses_pythons_own_generator():
    names = [
        alias.name
        for path in Path(hyst_interp.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in ([ast.alias(node.module or "")] if isinstance(node, ast.ImportFrom) else node.names)
    ]
    assert "numpy" in names
    assert not {"random", "secrets"} & set(names)
