"""What is looked at in a run under edits: the readout, the logits, the final stream, or how far it leads.

A sweep runs every cell once and hands what stands at the query to an observer, beside what stands there undisturbed. So
no question needs a forward pass of its own. Observers are plain functions in a frozen object; a new one is made where
it is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from hyst_interp.readout import read
from hyst_interp.tasks.trials import Trials


@dataclass(frozen=True)
class Seen:
    """What stands at the query after a run."""

    logits: Float[torch.Tensor, "*cell trial d_vocab"]
    stream: Float[torch.Tensor, "*cell trial d_model"] | None = None
    """The final residual stream, before the last LayerNorm; None where no observer asked for it."""

    def rows(self, trials: np.ndarray) -> "Seen":
        """The same for some of the trials."""
        index = torch.from_numpy(trials).to(self.logits.device)
        return Seen(self.logits[index], None if self.stream is None else self.stream[index])


@dataclass(frozen=True)
class Observer:
    """What is measured of every cell and trial."""

    measure: Callable[[Seen, Seen, Trials], dict[str, np.ndarray]]
    """(under edits, undisturbed, trials) → arrays [*cell, trial, …]; the undisturbed run is given for comparison."""
    compares: bool = False
    """Whether it looks at the stream, or at the undisturbed run; the plain sweep then makes that run too."""


def _stream(seen: Seen) -> Float[torch.Tensor, "*cell trial d_model"]:
    if seen.stream is None:
        raise ValueError("the final stream was not kept; make the observer with compares=True")
    return seen.stream


READOUT = Observer(lambda seen, before, trials: read(seen.logits, trials))
"""Every quantity of `readout.QUANTITIES`: what a sweep returns by default."""
LOGITS = Observer(lambda seen, before, trials: {"logits": seen.logits.detach().cpu().numpy()})
"""`logits` [cell, trial, d_vocab]."""
FINAL_STREAM = Observer(lambda seen, before, trials: {"stream": _stream(seen).detach().cpu().numpy()}, compares=True)
"""`stream` [cell, trial, d_model], the final residual stream."""


def both(one: Observer, other: Observer) -> Observer:
    """Two observers of the same runs."""
    return Observer(
        lambda seen, before, trials: one.measure(seen, before, trials) | other.measure(seen, before, trials),
        one.compares or other.compares,
    )
