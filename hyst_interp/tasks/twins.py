"""Twins: the same trial with one thing changed, so that a patch can carry exactly that thing.

- *value*: the value after the queried key becomes one that is neither answer nor any value of the prompt: the
  contextual answer changes, the fixed one stays.
- *rename*: the queried key becomes a key from outside the prompt, at its pair and at the query: the fixed answer
  changes, the contextual one stays.
- *query*: another key of the prompt is queried: both answers change, so its two logits are reported apart.

Which replacement a trial takes is decided by its own uniform draw, so a twin is the same whatever stands beside it in
the batch.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from hyst_interp.errors import UserError
from hyst_interp.tasks.trials import Trials


def _choose(
    allowed: Bool[np.ndarray, "trial option"], uniform: Float[np.ndarray, " trial"]
) -> Int[np.ndarray, " trial"]:
    """One allowed option a row, equally likely; UserError where a row allows none."""
    count = allowed.sum(1)
    if (count == 0).any():
        raise UserError(
            f"{int((count == 0).sum())} of {len(count)} trials allow no twin of this kind;"
            " use a task with more keys and values than the prompt holds"
        )
    wanted = np.minimum((uniform * count).astype(np.int64), count - 1)
    return np.argmax(allowed.cumsum(1) > wanted[:, None], axis=1)


def value_twin(trials: Trials, permutation: Int[np.ndarray, " key"]) -> Trials:
    """The queried value replaced by one that is neither c, f, nor any value of the prompt."""
    rows = np.arange(len(trials))
    allowed = np.ones((len(trials), trials.d_vocab), dtype=bool)
    allowed[:, : trials.first_value] = False
    np.put_along_axis(allowed, trials.tokens, False, axis=1)
    allowed[rows, trials.fixed] = False
    corrupted = trials.tokens.copy()
    corrupted[rows, 2 * trials.queried_pair + 1] = _choose(allowed, trials.uniform)
    return replace(trials, twin="value", corrupted=corrupted)


def rename_twin(trials: Trials, permutation: Int[np.ndarray, " key"]) -> Trials:
    """The queried key renamed, at its pair and at the query, to a key outside the prompt whose π is neither c nor f."""
    rows = np.arange(len(trials))
    allowed = np.ones((len(trials), trials.first_value), dtype=bool)
    np.put_along_axis(allowed, trials.tokens[:, 0::2], False, axis=1)
    answers = permutation[None, :]
    allowed &= (answers != trials.contextual[:, None]) & (answers != trials.fixed[:, None])
    name = _choose(allowed, trials.uniform)
    corrupted = trials.tokens.copy()
    corrupted[rows, 2 * trials.queried_pair] = name
    corrupted[:, -1] = name
    return replace(trials, twin="rename", corrupted=corrupted)


def query_twin(trials: Trials, permutation: Int[np.ndarray, " key"]) -> Trials:
    """Another key of the prompt is queried."""
    keys = trials.tokens[:, 0:-1:2]
    pair = _choose(keys != trials.query[:, None], trials.uniform)
    corrupted = trials.tokens.copy()
    corrupted[:, -1] = keys[np.arange(len(trials)), pair]
    return replace(trials, twin="query", corrupted=corrupted)


TWINS: dict[str, Callable[[Trials, np.ndarray], Trials]] = {
    "value": value_twin,
    "rename": rename_twin,
    "query": query_twin,
}
