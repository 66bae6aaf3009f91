"""What a task must offer, so that training and measurement need not know which task it is."""

from typing import Protocol

import numpy as np
from jaxtyping import Int

from hyst_interp.streams import Stream
from hyst_interp.tasks.trials import Trials


class Task(Protocol):
    """A question with two rules: one read from the prompt, one held in the weights."""

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
        """The same trials with a corrupted prompt of the named kind."""
        ...
