"""Ambiguous associative recall: k1 v1 … kn vn q, answered from the prompt or from a global permutation.

Keys are distinct within a prompt, values are drawn independently, the queried key is one of the prompt's. The
*contextual* answer is the value that follows the queried key; the *fixed* answer is π(q), where the permutation π
belongs to the seed. The input distribution never depends on the training mixture.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Int

from hyst_interp.config import TaskConfig
from hyst_interp.streams import Stream
from hyst_interp.tasks.trials import Trials, concatenate
from hyst_interp.tasks.twins import TWINS

ROLES = ("queried key", "its value", "other keys", "other values", "query")
"""Parts that positions play in a recall prompt, in reading order."""
UNCHANGED = {
    "value": (("queried key",), ("k1",)),
    "rename": ((), ()),
    "query": (ROLES[:-1], None),
}
"""Twin → roles and position labels that stand before its first changed token in every prompt; None: all but the query.

The first position is a key, so no value twin changes it.
"""
_BLOCK = 1024


@dataclass(frozen=True)
class AssociativeRecall:
    """The recall task of one training seed."""

    config: TaskConfig
    seed: int

    @property
    def roles(self) -> tuple[str, ...]:
        """`ROLES`."""
        return ROLES

    @property
    def twins(self) -> tuple[str, ...]:
        """`value`, `rename` and `query`."""
        return tuple(TWINS)

    @property
    def d_vocab(self) -> int:
        """Number of tokens."""
        return self.config.d_vocab

    @property
    def n_ctx(self) -> int:
        """Positions in a prompt."""
        return self.config.n_ctx

    @property
    def permutation(self) -> Int[np.ndarray, " key"]:
        """π as token ids: the fixed answer of every key (an injection of keys into values)."""
        return self._permutation

    @cached_property
    def _permutation(self) -> Int[np.ndarray, " key"]:
        order = Stream("permutation", self.seed).generator().permutation(self.config.n_values)
        return self.config.n_keys + order[: self.config.n_keys]

    @property
    def position_labels(self) -> tuple[str, ...]:
        """`k1 v1 … kn vn q`."""
        pairs = range(1, self.config.n_pairs + 1)
        return (*(label for n in pairs for label in (f"k{n}", f"v{n}")), "q")

    def batch(self, stream: Stream, index: int, size: int) -> Trials:
        """Batch `index` of `stream` with `size` prompts: a pure function of its arguments."""
        task, random = self.config, stream.generator(index)
        draws = random.random((size, task.n_keys))
        keys = np.argsort(draws, axis=1)[:, : task.n_pairs]
        values = random.integers(task.n_keys, task.d_vocab, size=(size, task.n_pairs))
        pair = random.integers(0, task.n_pairs, size=size)
        uniform = random.random(size)
        return self._trials(keys, values, pair, uniform)

    def _trials(self, keys: np.ndarray, values: np.ndarray, pair: np.ndarray, uniform: np.ndarray) -> Trials:
        size, n_pairs = keys.shape
        rows = np.arange(size)
        query, contextual = keys[rows, pair], values[rows, pair]
        fixed = self.permutation[query]
        tokens = np.empty((size, 2 * n_pairs + 1), dtype=np.int64)
        tokens[:, 0:-1:2], tokens[:, 1:-1:2], tokens[:, -1] = keys, values, query
        roles = np.empty(tokens.shape, dtype=np.int64)
        roles[:, 0:-1:2], roles[:, 1:-1:2] = ROLES.index("other keys"), ROLES.index("other values")
        roles[rows, 2 * pair], roles[rows, 2 * pair + 1] = ROLES.index("queried key"), ROLES.index("its value")
        roles[:, -1] = ROLES.index("query")
        return Trials(
            tokens=tokens,
            contextual=contextual,
            fixed=fixed,
            query=query,
            queried_pair=pair,
            contextual_count=(values == contextual[:, None]).sum(1),
            fixed_present=(values == fixed[:, None]).any(1),
            uniform=uniform,
            roles=roles,
            role_names=ROLES,
            position_labels=self.position_labels,
            first_value=self.config.n_keys,
            d_vocab=self.d_vocab,
        )

    def trials(self, stream: Stream, n: int, conflict: bool = True) -> Trials:
        """The first `n` trials of `stream` (only conflict trials by default); fewer are a prefix of more."""
        if n < 1:
            raise ValueError(f"number of trials is {n}; use at least 1")
        parts: list[Trials] = []
        count = index = 0
        while count < n:
            part = self.batch(stream, index, _BLOCK)
            part = part.take(part.conflict) if conflict else part
            parts.append(part)
            count, index = count + len(part), index + 1
        return concatenate(parts).take(slice(0, n))

    def twin(self, trials: Trials, kind: str) -> Trials:
        """`trials` with a corrupted prompt: kind `value`, `rename` or `query` (see `tasks/twins.py`)."""
        if kind not in TWINS:
            raise ValueError(f"twin '{kind}' does not exist; use one of {', '.join(TWINS)}")
        made = TWINS[kind](trials, self.permutation)
        roles, labels = UNCHANGED[kind]
        labels = trials.position_labels[:-1] if labels is None else labels
        return replace(made, unchanged_roles=roles, unchanged_positions=labels)

    def describe(self) -> str:
        """The task in a line."""
        task = self.config
        return (
            f"associative recall of {task.n_pairs} pairs, {task.n_keys} keys and {task.n_values} values,"
            f" permutation of seed {self.seed}"
        )
