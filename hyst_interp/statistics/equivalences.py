"""Equivalence: has an effect become too small to matter?

The idea (two one-sided tests): "not significantly different from zero" is what any noisy study finds. To claim that
an effect is gone, reject both "it is at least +margin" and "it is at most −margin", with a margin fixed beforehand.
That is the case just when the interval at level 1 − 2·alpha lies inside ±margin.

statsmodels' `ttost_mean` (0.15) has the same p to 3e-15 on 5000 drawn samples; only where values without spread lie on
the margin is it NaN. It stays out all the same: what it would replace is one line, the larger of two tails.

Where the margin comes from is not decided here.
"""

import math
from dataclasses import dataclass

from scipy.special import stdtr

from hyst_interp.statistics.estimate import Estimate
from hyst_interp.statistics.intervals import student_t
from hyst_interp.statistics.samples import Values, sample
from hyst_interp.verdicts import Verdict


@dataclass(frozen=True)
class Equivalence:
    """What two one-sided tests found."""

    verdict: Verdict
    """`equivalent`: the interval inside ±margin; `different`: wholly beyond it; else `undetermined`."""
    p: float | None
    """The larger of the two one-sided p-values; None below two values."""
    margin: float
    """The largest effect that counts as none, in the unit of the interval."""
    interval: Estimate
    """Student's t interval of the mean at level 1 − 2·alpha."""

    def to_dict(self) -> dict[str, object]:
        """Ready for strict JSON."""
        return {"verdict": self.verdict, "p": self.p, "margin": self.margin, "interval": self.interval.to_dict()}


def equivalence(values: Values, margin: float | int, alpha: float = 0.05, unit: str = "logits") -> Equivalence:
    """Two one-sided t tests of |mean| < margin (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15, 657).

    p = max(P(T > (mean + margin)/se), P(T < (mean − margin)/se)), T with n − 1 degrees of freedom, se = s/√n;
    equivalent when p < alpha. Assumes independent, normal values. Values without spread are taken at their word: p is
    0 inside the margin, 1 beyond it, 0.5 on it.

    Args:
        values: shape (seed,), in `unit`. Fewer than two are undetermined; the interval says why.
        margin: positive, in `unit`, fixed before the values were seen.
        alpha: error rate of each of the two tests.

    Raises:
        ValueError: margin not positive and finite, alpha outside (0, 0.5), several axes, NaN (counted).
    """
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"margin is {margin}; give a positive number of {unit}, fixed beforehand")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha is {alpha}; give an error rate between 0 and 0.5, such as 0.05")
    array = sample(values)
    margin = float(margin)
    interval = student_t(array, unit, level=1 - 2 * alpha)
    if interval.low is None or interval.high is None:
        return Equivalence(Verdict.UNDETERMINED, None, margin, interval)
    mean, error = float(array.mean()), float(array.std(ddof=1)) / math.sqrt(array.size)
    p = max(_below(-mean - margin, error, array.size - 1), _below(mean - margin, error, array.size - 1))
    verdict = Verdict.UNDETERMINED
    if p < alpha:
        verdict = Verdict.EQUIVALENT
    elif interval.low > margin or interval.high < -margin:
        verdict = Verdict.DIFFERENT
    return Equivalence(verdict, p, margin, interval)


def _below(distance: float, error: float, freedom: int) -> float:
    """P(T < distance/error), with its limits where there is no spread."""
    if error == 0:
        return 0.5 if distance == 0 else float(distance > 0)
    return float(stdtr(freedom, distance / error))
