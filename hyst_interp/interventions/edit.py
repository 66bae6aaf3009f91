"""An edit: what is replaced, by what, how strongly, where. Small declarative data; `hooks.py` carries it out.

Ablation, patching, and scaling are one interpolation, `lerp(activation, reference, strength)`: a mean is a reference
that is the same for every trial, a patch one that is different for each.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool

from hyst_interp.sites import Site


@dataclass(frozen=True)
class Reference:
    """What is put in, in the frame of the site or of the residual stream."""

    values: torch.Tensor
    """[pos, width] for all trials alike, [trial, pos, width] when `per_trial`; without the head axis.

    [width] is the same at every position, a single number in every coordinate; one row ([1, width], or [trial, 1,
    width]) is for an edit at the query alone. `fit.py` refuses every other shape, for none is stretched.
    """
    per_trial: bool
    """Whether the first axis of `values` is the trial."""
    frame: Literal["site", "stream"] = "site"
    """`site`: the space of the hook (d_head for a head). `stream`: what the component adds to the residual stream."""

    def rows(self, part: slice) -> "Reference":
        """The reference for a slice of the trials."""
        return Reference(self.values[part], True, self.frame) if self.per_trial else self


@dataclass(frozen=True)
class Edit:
    """One replacement; strength 0 is the identity bit for bit, 1 puts the reference in."""

    site: Site
    reference: Reference
    strength: float = 1.0
    positions: Bool[np.ndarray, " pos"] | Bool[np.ndarray, "trial pos"] | None = None
    """Where (query positions, for a pattern): a mask, one a trial, or None for everywhere."""

    def rows(self, part: slice) -> "Edit":
        """The edit for a slice of the trials."""
        positions = self.positions
        if positions is not None and positions.ndim == 2:
            positions = positions[part]
        return Edit(self.site, self.reference.rows(part), self.strength, positions)
