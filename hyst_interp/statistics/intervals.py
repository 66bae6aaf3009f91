"""Intervals for one sample: a mean, a median, a share, a mean correlation.

The idea: each interval names what it assumes in its `method`, because at n = 5 the assumption is most of the
interval. `student_t` assumes normal values and gives any level; `min_max` assumes next to nothing and gives the one
level that n allows. There is no bootstrap here: with five values its percentiles are far too narrow.

Quantiles and exact ends are `scipy.stats`'s; what is ours is what happens below two values and without spread. It is
imported where it is called: it takes half a second, and not every caller of this room asks for an interval.

Ratios of two means are in `ratios`; tests are in `sign_flips` and `equivalences`.
"""

import math
from functools import cache

import numpy as np

from hyst_interp.statistics.estimate import Estimate, undefined
from hyst_interp.statistics.samples import Values, check_level, sample

ONE_PAIR = "trials of one pair; speaks of these two networks only"
"""What an interval over trials must say of itself."""

CLIP = 1 - 1e-12
"""Largest |r| that enters Fisher's z: r = ±1 exactly has no finite z."""


def student_t(values: Values, unit: str, level: float = 0.95) -> Estimate:
    """Student's t interval for the mean: mean ± t · s / √n (Student 1908).

    t is the quantile with n − 1 degrees of freedom. Assumes independent, normal values. Values without spread give an
    interval of length zero.

    Args:
        values: shape (seed,), in `unit`. Fewer than two give no interval, with the reason.

    Raises:
        ValueError: several axes, NaN (counted), level outside (0, 1).
    """
    return _mean_interval(values, unit, level, "Student-t, values independent and normal")


def over_trials(values: Values, unit: str, level: float = 0.95) -> Estimate:
    """`student_t` over the trials of one pair of networks: `n` counts trials, and `method` says what that is worth.

    It tells how well the trials pin down *these two networks*; other seeds may differ by far more.

    Args:
        values: shape (trial,), in `unit`. Fewer than two give no interval, with the reason.

    Raises:
        ValueError: several axes, NaN (counted), level outside (0, 1).
    """
    return _mean_interval(values, unit, level, f"Student-t over {ONE_PAIR}")


def min_max(values: Values, unit: str) -> Estimate:
    """[min, max] as an exact interval for the median, at the level 1 − 2**(1 − n) that n values allow.

    That is 0.9375 at n = 5. The median lies outside only if all values fall on one side of it, which independent
    values from a continuous distribution do with probability 2 · 2**−n (Thompson 1936). The estimate is the sample's
    median.

    Args:
        values: shape (seed,), in `unit`. Fewer than two give no interval, with the reason, at level 0.

    Raises:
        ValueError: several axes, NaN (counted).
    """
    array = sample(values)
    n = array.size
    method = "[min, max], exact for the median, values independent and continuous"
    if n < 2:
        return _too_few(array, unit, 0.0, method)
    return Estimate(float(np.median(array)), array.min(), array.max(), 1 - 2.0 ** (1 - n), method, unit, n)


def binomial(successes: int, n: int, level: float = 0.95, unit: str = "share of seeds") -> Estimate:
    """The exact interval of a share (Clopper and Pearson 1934); covers at least `level`, whatever the share.

    low solves P(X ≥ successes) = (1 − level)/2 and high solves P(X ≤ successes) = (1 − level)/2, both to about 1e-12;
    0 and n successes reach 0 and 1.

    Args:
        successes: how many of the `n`, 0 … n.
        n: number of independent tries; 0 gives an undefined estimate.

    Raises:
        ValueError: successes outside 0 … n, level outside (0, 1).
    """
    check_level(level)
    if n < 0 or not 0 <= successes <= n:
        raise ValueError(f"successes={successes} of n={n} is no count; give 0 ≤ successes ≤ n")
    method = "Clopper-Pearson, tries independent"
    if n == 0:
        return undefined("no tries: a share of nothing", unit, 0, method, level)
    from scipy import stats

    interval = stats.binomtest(successes, n).proportion_ci(level, method="exact")
    return Estimate(successes / n, interval.low, interval.high, level, method, unit, n)


def fisher_mean(correlations: Values, level: float = 0.95) -> Estimate:
    """The mean of correlations, averaged as z = artanh r (Fisher 1921) and turned back, with its interval.

    The interval is Student's t for z, turned back. Assumes independent z, about normal. r = ±1 has no finite z: |r|
    is clipped to 1 − 1e-12 first, which `method` says.

    Args:
        correlations: shape (seed,), between −1 and 1 (rounding up to 1e-9 beyond is forgiven). Fewer than two give no
            interval, with the reason.

    Raises:
        ValueError: |r| > 1, several axes, NaN (counted), level outside (0, 1).
    """
    array = sample(correlations, "correlations")
    beyond = array[np.abs(array) > 1 + 1e-9]
    if beyond.size:
        raise ValueError(f"correlations holds {beyond[0]}, beyond ±1; give correlations, not z values")
    z = np.arctanh(np.clip(array, -CLIP, CLIP))
    method = "Student-t on Fisher z, back-transformed (|r| clipped to 1 - 1e-12), z independent and normal"
    interval = _mean_interval(z, "correlation", level, method)
    back = [None if end is None else math.tanh(end) for end in (interval.estimate, interval.low, interval.high)]
    return Estimate(back[0], back[1], back[2], interval.level, method, interval.unit, interval.n, interval.reason)


def _mean_interval(values: Values, unit: str, level: float, method: str) -> Estimate:
    check_level(level)
    array = sample(values)
    n = array.size
    if n < 2:
        return _too_few(array, unit, level, method)
    mean = float(array.mean())
    reach = _standard_reach(float(level), n - 1) * float(array.std(ddof=1)) / math.sqrt(n)
    return Estimate(mean, mean - reach, mean + reach, level, method, unit, n)


@cache
def _standard_reach(level: float, freedom: int) -> float:
    """Half the t interval in standard errors, so that a standard error of 0 gives a length of 0 and not NaN.

    Kept, because maps ask for the same one in every cell, and a look-up is a hundred times as quick.
    """
    from scipy import stats

    return float(stats.t.interval(level, freedom)[1])


def _too_few(array: np.ndarray, unit: str, level: float, method: str) -> Estimate:
    if array.size == 0:
        return undefined("no values", unit, 0, method, level)
    return Estimate(float(array[0]), None, None, level, method, unit, 1, "one value has no spread: no interval")
