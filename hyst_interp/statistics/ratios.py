"""Ratios of two means measured on the same seeds, such as the share of a gap that an intervention removes.

The idea (Fieller 1954): a ratio r is not rejected when the t interval of mean(numerator − r · denominator) contains
0. The set of such r is exact for normal pairs, and it is honest: when the denominator may be zero the set is no
interval but everything outside one, or the whole line. Nothing is clipped to [0, 1].

`fieller` gives that set whatever it is. `ratio_of_means` is what tables use: undefined, with its reason, where the
denominator's own interval contains 0. A mean of per-seed ratios is left out on purpose: one small denominator
rules it.
"""

import math

import numpy as np
from scipy.special import stdtrit

from hyst_interp.statistics.estimate import Estimate, undefined
from hyst_interp.statistics.intervals import ONE_PAIR, student_t
from hyst_interp.statistics.samples import Values, check_level, sample

_ROUNDING = 1e-12  # relative; below it the sign of a difference of squares is rounding


def ratio_of_means(
    numerators: Values, denominators: Values, unit: str = "ratio", level: float = 0.95, over: str = "seeds"
) -> Estimate:
    """mean(numerators) / mean(denominators) with Fieller's interval, unclipped, or undefined.

    Args:
        numerators, denominators: shape (seed,), paired, of one unit (as a rule logits).
        unit: unit of the ratio.
        over: what the pairs are, for `method`; `trials` says that the interval speaks of two networks only.

    Returns:
        A bounded interval, or an undefined estimate whose reason names the denominator's Student-t interval at
        `level`.

    Raises:
        ValueError: different lengths, several axes, NaN (counted), level outside (0, 1).
    """
    ratio = fieller(numerators, denominators, unit, level, over)
    denominator = student_t(denominators, unit, level)
    if denominator.low is None:
        return undefined(denominator.reason or "no interval", unit, ratio.n, ratio.method, level)
    if denominator.contains(0) or ratio.shape != "interval":
        mean = denominator.text()
        reason = f"the denominator may be 0: its mean is {mean} at level {level:g}"
        return undefined(reason, unit, ratio.n, ratio.method, level)
    return ratio


def fieller(
    numerators: Values, denominators: Values, unit: str = "ratio", level: float = 0.95, over: str = "seeds"
) -> Estimate:
    """All ratios r that a paired t test of mean(numerators − r · denominators) = 0 does not reject at 1 − `level`.

    With means a, b, the (co)variances of the means Saa, Sab, Sbb, and t with n − 1 degrees of freedom, the set is
    A r² − 2 B r + C ≤ 0 for A = b² − t² Sbb, B = a b − t² Sab, C = a² − t² Saa (Fieller 1954, J. R. Stat. Soc. B 16,
    175): an interval for A > 0, else the complement of one, or the whole line. A = 0, to rounding, is a half-line;
    the whole line, which contains it, is given for it.

    Args:
        numerators, denominators: shape (seed,), paired, of one unit.
        unit: unit of the ratio.
        over: what the pairs are, for `method`; `trials` says that the interval speaks of two networks only.

    Returns:
        An estimate of any shape. Undefined when all denominators are 0; without an interval below two pairs; a mean
        denominator of exactly 0 leaves the estimate None and the set as it is.

    Raises:
        ValueError: different lengths, several axes, NaN (counted), level outside (0, 1).
    """
    check_level(level)
    top, bottom = sample(numerators, "numerators"), sample(denominators, "denominators")
    if top.size != bottom.size:
        raise ValueError(f"{top.size} numerators and {bottom.size} denominators; give pairs, one of each a replicate")
    n = top.size
    method = f"Fieller, paired, normal, over {ONE_PAIR if over == 'trials' else over}"
    if not np.any(bottom):
        reason = "all denominators are 0" if n else "no values"
        return undefined(reason, unit, n, method, level)
    # In units of the largest of each, the squares below neither vanish nor overflow.
    top_unit, bottom_unit = float(np.abs(top).max()) or 1.0, float(np.abs(bottom).max())
    top, bottom = top / top_unit, bottom / bottom_unit
    back = top_unit / bottom_unit
    a, b = float(top.mean()), float(bottom.mean())
    estimate = None if b == 0 else a / b
    if n < 2:
        return Estimate(a / b * back, None, None, level, method, unit, n, "one pair has no spread: no interval")
    reason = "the mean denominator is exactly 0" if estimate is None else None
    t2 = float(stdtrit(n - 1, (1 + level) / 2)) ** 2
    (saa, sab), (_, sbb) = np.cov(top, bottom, ddof=1) / n
    quadratic, linear = b**2 - t2 * sbb, a * b - t2 * sab
    # linear² − quadratic · constant, written so that near-proportional pairs do not cancel.
    residual = float(np.var(b * (top - a) - a * (bottom - b), ddof=1)) / n
    discriminant = t2 * (residual - t2 * max(saa * sbb - sab**2, 0.0))
    scale = b**2 + t2 * sbb
    if quadratic > _ROUNDING * scale:
        root = math.sqrt(max(discriminant, 0.0))
        ends = (linear - root) / quadratic, (linear + root) / quadratic
        # The estimate is in the set; rounding must not put it outside by a bit.
        low, high = (min(ends[0], a / b) * back, max(ends[1], a / b) * back)
        return Estimate(a / b * back, low, high, level, method, unit, n)
    point = None if estimate is None else estimate * back
    if quadratic < -_ROUNDING * scale and discriminant > _ROUNDING * scale * (a**2 + t2 * saa):
        root = math.sqrt(discriminant)
        low, high = (linear + root) / quadratic * back, (linear - root) / quadratic * back
        return Estimate(point, low, high, level, method, unit, n, reason, "complement")
    return Estimate(point, None, None, level, method, unit, n, reason, "unbounded")
