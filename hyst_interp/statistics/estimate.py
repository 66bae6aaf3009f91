"""Estimate: the one shape of a number with its interval in the whole project.

The idea: a number that travels without its interval, unit, method and n is soon quoted without them, and a NaN that
travels is soon averaged. So all of them stand in one frozen object, and what is undefined is None *with its reason*.

It computes nothing: `intervals`, `ratios` and `equivalences` make estimates; tables, figures and JSON read them.
"""

import math
import operator
from dataclasses import dataclass
from typing import Literal

Shape = Literal["interval", "complement", "unbounded"]


@dataclass(frozen=True)
class Estimate:
    """A number, the set of values that the data do not reject, and what both are worth.

    A NaN or an infinity given for `estimate`, `low` or `high` becomes None. Whatever is None and is not part of an
    unbounded set needs a `reason`.

    Raises:
        ValueError: a number is missing without a reason; `low` > `high`; `level` outside [0, 1]; `n` negative; an
            unknown `shape`, or one that does not fit the ends given.
    """

    estimate: float | None
    """The point estimate, in `unit`; None when it is undefined."""
    low: float | None
    """Lower end of the interval, or of the gap that a complement leaves out."""
    high: float | None
    """Upper end of the interval, or of the gap that a complement leaves out."""
    level: float
    """Confidence level of the set, between 0 and 1."""
    method: str
    """How the set was found, with what it assumes."""
    unit: str
    """What the number counts: logits, ratio, share of seeds, …"""
    n: int
    """Number of independent values behind the number."""
    reason: str | None = None
    """Why something is None."""
    shape: Shape = "interval"
    """`interval` is [low, high]; `complement` is everything outside (low, high); `unbounded` is the whole line."""

    def __post_init__(self) -> None:
        for name in ("estimate", "low", "high"):
            object.__setattr__(self, name, _finite(getattr(self, name)))
        object.__setattr__(self, "level", float(self.level))
        object.__setattr__(self, "n", operator.index(self.n))
        if not 0 <= self.level <= 1:
            raise ValueError(f"level is {self.level}; give a share between 0 and 1, such as 0.95")
        if self.n < 0:
            raise ValueError(f"n is {self.n}; give the number of values behind the estimate")
        if self.shape not in ("interval", "complement", "unbounded"):
            raise ValueError(f"shape is {self.shape!r}; give 'interval', 'complement' or 'unbounded'")
        if self.shape == "unbounded" and (self.low is not None or self.high is not None):
            raise ValueError(f"an unbounded set has no ends, but low={self.low}, high={self.high}; leave both None")
        if self.shape == "complement" and (self.low is None or self.high is None):
            raise ValueError(f"a complement needs both ends, but low={self.low}, high={self.high}; give both")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low={self.low} lies above high={self.high}; exchange them")
        needed = ("estimate",) if self.shape == "unbounded" else ("estimate", "low", "high")
        missing = [name for name in needed if getattr(self, name) is None]
        if missing and not self.reason:
            raise ValueError(f"{', '.join(missing)} missing or not finite in an estimate; say why in reason=")

    def to_dict(self) -> dict[str, float | int | str | None]:
        """Ready for strict JSON, never NaN or infinity; `reason` and `shape` (not of an interval) only when needed."""
        entry: dict[str, float | int | str | None] = {
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "method": self.method,
            "unit": self.unit,
            "n": self.n,
        }
        if self.reason is not None:
            entry["reason"] = self.reason
        if self.shape != "interval":
            entry["shape"] = self.shape
        return entry

    def text(self, digits: int = 3) -> str:
        """For people, at `digits` significant digits.

        `+0.0976 [+0.011, +0.184]`, `+1.2 outside (-3, +0.5)`, `+1.2 (unbounded)`, `undefined`; a number whose
        interval is undefined is `+0.1 (no interval)`.
        """
        number = "undefined" if self.estimate is None else _signed(self.estimate, digits)
        if self.shape == "unbounded":
            return f"{number} (unbounded)"
        if self.low is None or self.high is None:
            return number if self.estimate is None else f"{number} (no interval)"
        ends = f"{_signed(self.low, digits)}, {_signed(self.high, digits)}"
        return f"{number} outside ({ends})" if self.shape == "complement" else f"{number} [{ends}]"

    def contains(self, value: float | int) -> bool:
        """Whether `value` lies in the set. An undefined interval neither contains nor excludes anything."""
        if self.shape == "unbounded":
            return True
        if self.low is None or self.high is None:
            return False
        if self.shape == "complement":
            return value <= self.low or value >= self.high
        return self.low <= value <= self.high

    def excludes(self, value: float | int) -> bool:
        """Whether `value` lies outside the set: is rejected. An undefined interval rejects nothing."""
        if self.shape == "unbounded" or self.low is None or self.high is None:
            return False
        return not self.contains(value)

    @property
    def half_width(self) -> float | None:
        """Half the interval's length, in `unit`; None when the set is not bounded or not defined."""
        if self.shape != "interval" or self.low is None or self.high is None:
            return None
        return self.high / 2 - self.low / 2


def undefined(reason: str, unit: str, n: int, method: str = "none", level: float = 0.95) -> Estimate:
    """An estimate of which nothing is known but why.

    Raises:
        ValueError: `reason` is empty.
    """
    return Estimate(None, None, None, level, method, unit, n, reason)


def _finite(number: float | None) -> float | None:
    if number is None:
        return None
    number = float(number)
    return number if math.isfinite(number) else None


def _signed(number: float, digits: int) -> str:
    text = f"{number + 0.0:+.{digits}g}"  # + 0.0 turns −0 into +0
    # Thousands are easier read in full than as +1e+03.
    return f"{number:+.0f}" if "e+" in text and abs(number) < 1e9 else text
