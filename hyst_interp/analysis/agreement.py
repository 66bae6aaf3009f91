"""Do two estimates of one thing agree? A reading of their intervals by a rule."""

from hyst_interp.statistics import Estimate
from hyst_interp.verdicts import Verdict


def compared(direct: Estimate, moved: Estimate) -> Verdict:
    """`agree`: same sign, both without 0, and overlapping; `same sign` without overlap; `opposite signs`; or neither.

    An interval that contains 0, or none, leaves the comparison `undetermined`.
    """
    if not (direct.excludes(0) and moved.excludes(0)) or direct.estimate is None or moved.estimate is None:
        return Verdict.UNDETERMINED
    if direct.estimate * moved.estimate < 0:
        return Verdict.OPPOSITE_SIGNS
    ends = (direct.low, direct.high, moved.low, moved.high)
    low_a, high_a, low_b, high_b = (float("nan") if end is None else end for end in ends)
    return Verdict.AGREE if low_a <= high_b and low_b <= high_a else Verdict.SAME_SIGN
