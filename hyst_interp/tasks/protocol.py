"""What a task must offer, so that training and measurement need not know which task it is.

A task is one training seed's: whatever it holds in the weights belongs to the seed, and so do its streams. What
positions are called, which parts they play, and which corrupted prompts there are is the task's own; trials carry it.
"""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from hyst_interp.streams import Stream
from hyst_interp.tasks.trials import Trials


@runtime_checkable
class Task(Protocol):
    """A question with two rules: one read from the prompt, one held in the weights."""

    @property
    def seed(self) -> int:
        """The training seed that it belongs to: its streams are this seed's unless another is named."""
        ...

    @property
    def roles(self) -> tuple[str, ...]:
        """Parts that positions play in a prompt, in reading order; the last is the query's."""
        ...

    @property
    def position_labels(self) -> tuple[str, ...]:
        """Name of every position; the last is the query's."""
        ...

    @property
    def twins(self) -> tuple[str, ...]:
        """Kinds of corrupted prompts that `twin` can make."""
        ...

    @property
    def d_vocab(self) -> int:
        """Number of tokens."""
        ...

    @property
    def n_ctx(self) -> int:
        """Positions in a prompt; the last is the query."""
        ...

    @property
    def permutation(self) -> Int[np.ndarray, " key"]:
        """The fixed rule: the answer's token id for every key."""
        ...

    def batch(self, stream: Stream, index: int, size: int) -> Trials:
        """Batch `index` of `stream`: a pure function of its arguments, drawn from the input distribution."""
        ...

    def trials(self, stream: Stream, n: int, conflict: bool = True) -> Trials:
        """The first `n` (conflict) trials of `stream`; fewer are a prefix of more."""
        ...

    def twin(self, trials: Trials, kind: str) -> Trials:
        """The same trials with a corrupted prompt of the named kind, and what no such prompt can change.

        Raises ValueError for a kind that is none of `twins`.
        """
        ...

    def describe(self) -> str:
        """The task in a line: what is asked, of how many tokens."""
        ...
