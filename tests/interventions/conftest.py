"""Fixtures of the interventions' tests: one network, seven trials (as many as a prompt has positions), and donors.

Seven trials of seven positions on purpose: a mask that is applied to the wrong axis then has a shape that fits.
"""

from collections.abc import Callable

import pytest
import torch
from transformer_lens import HookedTransformer

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config import SetUp
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials


@pytest.fixture(scope="session")
def network(small_pair: PairData) -> HookedTransformer:
    """The network from below."""
    return small_pair.below


@pytest.fixture(scope="session")
def donor_network(small_pair: PairData) -> HookedTransformer:
    """The network from above."""
    return small_pair.above


@pytest.fixture(scope="session")
def twins(small_setup: SetUp, small_pair: PairData) -> dict[str, Trials]:
    """The same seven trials with a corrupted prompt of each kind."""
    task, trials = task_of(small_setup), small_pair.trials.take(slice(0, 7))
    return {kind: task.twin(trials, kind) for kind in ("value", "rename", "query")}


@pytest.fixture(scope="session")
def tokens(twins: dict[str, Trials]) -> torch.Tensor:
    """The seven clean prompts."""
    return torch.from_numpy(twins["value"].tokens)


@pytest.fixture(scope="session")
def foreign(twins: dict[str, Trials]) -> torch.Tensor:
    """Seven prompts that differ from `tokens` at every position of the trial axis: the same ones, shifted by one."""
    return torch.from_numpy(twins["value"].tokens).roll(1, 0)


@pytest.fixture(scope="session")
def margin_with() -> Callable[..., float]:
    """Margin of one prompt under plain TransformerLens hooks: the oracle."""

    def margin(model: HookedTransformer, prompt, hooks, contextual: int, fixed: int) -> float:
        with torch.no_grad():
            logits = model.run_with_hooks(torch.as_tensor(prompt)[None], fwd_hooks=hooks)[0, -1]
        return float(logits[int(contextual)] - logits[int(fixed)])

    return margin
