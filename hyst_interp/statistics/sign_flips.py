"""The exact sign-flip test: is the mean of a few paired differences zero?

The idea: if the differences are symmetric around zero, each of the 2**n ways to sign them was equally likely, and p
is the share of them whose mean is at least as far from zero as the mean observed. All are enumerated, so p is exact
and needs no distribution. With n = 5 it cannot fall below 0.0625; `smallest` says so beside every p.

`scipy.stats.permutation_test` (1.17) enumerates the same signings and gives the same p, but is not used. Its tolerance
for ties is relative to the statistic, so that where the values sum to 0 up to rounding ties are lost: of 1500 such
samples of decimals 166 had p below 1. It refuses a single value. And 24 values take it two minutes, here a hundredth
of a second.

It gives no interval, and tests no unpaired samples.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hyst_interp.statistics.samples import Values, sample

MOST_VALUES = 24
"""2**23 sums take a fraction of a second; each further value doubles that."""

_CHUNK_VALUES = 16
# Of the sum of |values|: far above rounding (about n · 1e-16), far below a difference that means anything.
_TIE = 1e-10


@dataclass(frozen=True)
class SignFlip:
    """What an exact sign-flip test found."""

    p: float
    """Two-sided p-value: k / 2**n for a whole number k."""
    smallest: float
    """The smallest p that n values can reach: 2 / 2**n."""
    n: int
    """Number of values."""
    statistic: float
    """The mean that was tested, in the unit of the values."""


def sign_flip(values: Values) -> SignFlip:
    """Exact two-sided sign-flip test of the mean (Fisher 1935, The Design of Experiments, section 21).

    p = #{s in {−1, +1}**n : |mean(s · values)| ≥ |mean(values)|} / 2**n. Equal up to 1e-10 of the sum of |values|
    counts as equal, so that rounding cannot change p. A zero keeps its place among the n: flipping it changes
    nothing; values that are all zero give p = 1.

    Args:
        values: shape (seed,), one paired difference a seed, any unit.

    Raises:
        ValueError: no values, more than 24, several axes, NaN.
    """
    array = sample(values)
    n = array.size
    if n == 0:
        raise ValueError("values is empty; a sign-flip test needs at least one value")
    if n > MOST_VALUES:
        raise ValueError(
            f"values holds {n} values and full enumeration stops at {MOST_VALUES}; average them into fewer "
            "replicates, or use student_t"
        )
    largest = float(np.abs(array).max())
    smallest = 2.0 / 2.0**n
    if largest == 0:
        return SignFlip(p=1.0, smallest=smallest, n=n, statistic=0.0)
    # In units of the largest, neither tiny nor huge values leave the range in which rounding is relative.
    scaled = array / largest
    reach = abs(float(scaled.sum())) - _TIE * float(np.abs(scaled).sum())
    # A pattern and its mirror image have the same |sum|: fix the last sign, and count half of them.
    free = scaled[:-1]
    inner = _signed_sums(free[:_CHUNK_VALUES])
    outer = _signed_sums(free[_CHUNK_VALUES:]) + scaled[-1]
    count = sum(int(np.count_nonzero(np.abs(inner + offset) >= reach)) for offset in outer)
    return SignFlip(p=count / 2 ** (n - 1), smallest=smallest, n=n, statistic=float(scaled.mean() * largest))


def _signed_sums(values: Float[np.ndarray, " value"]) -> Float[np.ndarray, " pattern"]:
    """The 2**value sums of the values under all their signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums
