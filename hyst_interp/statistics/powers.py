"""Power: how likely a study of n seeds is to see an effect of a given size, and what it could not have seen.

The test is the two-sided one-sample t test at level alpha; its power comes from the noncentral t distribution (Cohen
1988, *Statistical Power Analysis*, ch. 2). The deviation between seeds is taken as known. A study's own deviation is
an estimate, and power computed from it inherits its uncertainty; "observed power", at the effect that was observed,
says nothing that the p-value does not, and is not offered.

statsmodels' `TTestPower` (0.15, on scipy 1.17) gives the same power to 3e-14 where it gives any, but is not used: for
large effects it is NaN (575 of 5000 drawn designs; the smallest such power is 0.14, with two values at alpha 0.01), and
its inverse stops at an effect of 10 without a word: for 90 % power with two values it says 10.0 where 14.8 is needed.
"""

import math
from functools import cache

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln, ndtr, stdtrit

NODES = 300
"""Of the integral over the sample's own deviation; agrees with adaptive integration to 1e-12."""

REACH = 9.0
"""Standard deviations beyond which a normal value is not looked for: the probability is 1e-19."""


def power(effect: float, deviation: float, n: int, alpha: float = 0.05) -> float:
    """Probability that n independent normal values with mean `effect` reject a mean of 0, two-sided, at `alpha`.

    Args:
        effect: the mean, in the unit of `deviation`; its sign does not matter.
        deviation: standard deviation between values, positive.
        n: number of values, at least 2.

    Raises:
        ValueError: n below 2, a deviation that is not positive, alpha outside (0, 1).
    """
    _check(deviation, alpha)
    if n < 2:
        raise ValueError(f"n is {n}; a t test needs at least 2 values")
    return float(_power(effect, deviation, np.array([n]), alpha)[0])


def detectable(deviation: float, n: int, wanted: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest effect that n values reject 0 for with probability `wanted`, in the unit of `deviation`.

    Raises:
        ValueError: as `power`, or `wanted` not between alpha and 1.
    """
    from scipy.optimize import brentq

    _check_wanted(wanted, alpha)
    high = deviation
    while power(high, deviation, n, alpha) < wanted:
        high *= 2
    return float(np.asarray(brentq(lambda effect: power(effect, deviation, n, alpha) - wanted, 0.0, high)))


def seeds_for(
    effect: float, deviation: float, wanted: float = 0.8, alpha: float = 0.05, most: int = 1000
) -> int | None:
    """The smallest number of seeds that sees `effect` with probability `wanted`; None above `most`.

    Raises:
        ValueError: a deviation that is not positive, alpha or `wanted` outside their range.
    """
    _check(deviation, alpha)
    _check_wanted(wanted, alpha)
    n = np.arange(2, most + 1)
    enough = np.flatnonzero(_power(effect, deviation, n, alpha) >= wanted)
    return int(n[enough[0]]) if len(enough) else None


def sign_flip_can_reject(n: int, alpha: float = 0.05) -> bool:
    """Whether n values can give a two-sided sign-flip p of at most alpha at all (5 cannot at 0.05, 6 can)."""
    return n > 0 and 2 / 2**n <= alpha


def _power(effect: float, deviation: float, n: np.ndarray, alpha: float) -> np.ndarray:
    """P(|Z + shift| > bound · S), S = √(χ²/ν): the normal probability averaged over S by Gauss-Legendre nodes.

    Below S = (shift − 9)/bound the test rejects and beyond (shift + 9)/bound it does not, both but for 1e-18. So the
    nodes cover only what lies between, however narrow it is beside the spread of S (few values, small alpha), and
    never more than the range of S. scipy's noncentral t has no lower tail (NaN) where the shift is large, and was
    wrong in the fourth decimal before that, so it is not used.
    """
    freedom = n[:, None] - 1
    half = freedom / 2
    bound = stdtrit(freedom, 1 - alpha / 2)
    shift = abs(effect) / deviation * np.sqrt(n)[:, None]
    least, most = (np.sqrt(gammaincinv(half, edge) / half) for edge in (1e-16, 1 - 1e-16))
    certain = np.maximum(shift - REACH, 0.0) / bound
    low, high = np.clip(certain, least, most), np.clip((shift + REACH) / bound, least, most)
    nodes, weights = _nodes()
    scale = low + (high - low) * (nodes + 1) / 2
    logarithm = (freedom - 1) * np.log(scale) - half * scale**2 + half * np.log(half) - gammaln(half)
    density = (high - low) * weights * np.exp(logarithm)
    rejects = ndtr(shift - bound * scale) + ndtr(-shift - bound * scale)
    return np.minimum(gammainc(half, half * certain**2)[:, 0] + (density * rejects).sum(1), 1.0)


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(NODES)


def _check(deviation: float, alpha: float) -> None:
    if not (deviation > 0 and math.isfinite(deviation)):
        raise ValueError(f"deviation is {deviation}; give a positive standard deviation between seeds")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; give an error rate between 0 and 1, such as 0.05")


def _check_wanted(wanted: float, alpha: float) -> None:
    if not alpha < wanted < 1:
        raise ValueError(f"wanted is {wanted}; give a power between alpha {alpha} and 1, such as 0.8")
