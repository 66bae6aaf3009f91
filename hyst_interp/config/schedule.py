"""A counterbalanced pair of histories: which mixtures, in which order, on which batches.

The configuration only; `history/schedule.py` expands it into steps and proves that both branches are exposed equally.
"""

import math
from typing import Literal

from pydantic import Field, model_validator

from hyst_interp.config.frozen import Frozen

Branch = Literal["below", "above"]
BRANCHES: tuple[Branch, Branch] = ("below", "above")
"""The two histories: from below first, as in every difference."""
P_MIN, P_MAX = 0.02, 0.98
"""Mixtures outside this range are refused: the best margin log(p/(1−p)) would no longer be learned in time."""


class ScheduleConfig(Frozen):
    """An up- and a down-excursion of the mixture around p0."""

    shape: Literal["staircase", "triangle"] = "staircase"
    """A staircase holds each level for `dwell` updates; a triangle changes the mixture at every update."""
    delta: float = Field(default=0.4, ge=0)
    """Height δ of an excursion, in units of `excursion`; 0 is the exact null."""
    levels: int = Field(default=4, ge=1)
    """Levels L from p0 to the peak."""
    dwell: int = Field(default=10, ge=1)
    """Updates a level (1 for a triangle)."""
    excursion: Literal["probability", "log-odds"] = "probability"
    """Excursions symmetric in p (as in the paper) or in log(p/(1−p))."""
    pairing: Literal["paired", "independent"] = "paired"
    """Both excursions on the same batches (an exact null at δ = 0), or each on its own."""

    @model_validator(mode="after")
    def _triangle(self) -> "ScheduleConfig":
        if self.shape == "triangle" and self.dwell != 1:
            raise ValueError(f"dwell is {self.dwell} with shape 'triangle', which has dwell 1; set dwell = 1")
        return self

    @property
    def updates(self) -> int:
        """Updates of the whole schedule: two excursions, each up and down again."""
        return 4 * self.levels * self.dwell

    def mixture(self, p0: float, offset: float) -> float:
        """The mixture at `offset` (signed, in units of `excursion`) from p0."""
        if offset == 0:
            return p0
        if self.excursion == "probability":
            return p0 + offset
        odds = math.log(p0 / (1 - p0)) + offset
        return 1 / (1 + math.exp(min(-odds, 700.0)))  # beyond, exp overflows

    def refuse_impossible(self, p0: float) -> None:
        """Raise ValueError where the excursions would leave the allowed mixtures."""
        if not P_MIN <= p0 <= P_MAX:
            raise ValueError(f"p0 is {p0}, outside [{P_MIN}, {P_MAX}]; choose a mixture inside")
        if self.excursion == "probability" and self.delta >= min(p0, 1 - p0):
            raise ValueError(
                f"delta is {self.delta} at p0 = {p0}, which leaves the range of a probability;"
                f" use delta < {min(p0, 1 - p0):g}"
            )
        low, high = self.mixture(p0, -self.delta), self.mixture(p0, self.delta)
        if low < P_MIN - 1e-12 or high > P_MAX + 1e-12:
            raise ValueError(
                f"delta is {self.delta} at p0 = {p0}: the mixture would reach {low:.4g} and {high:.4g}, outside"
                f" [{P_MIN}, {P_MAX}]; use a smaller delta"
            )
