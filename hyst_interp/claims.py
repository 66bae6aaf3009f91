"""The paper's claims at p0 = 0.5, and one rule a row: estimate → agrees, differs, undetermined.

The rules are fixed here, before any reporting run. Signs, order of events, similarity, and the share removed can be
compared with the paper; magnitudes in logits cannot (its schedule and rates are unknown), so the gap itself is judged
by its sign. Source of the paper's values: *Testing History Dependence Between In-Context and In-Weights Learning*,
Zuo Yuchen, 2026.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import estimate_of
from hyst_interp.claim_inputs import Evidence
from hyst_interp.config.study import ClaimsConfig
from hyst_interp.questions.gap.relaxation import relaxed
from hyst_interp.statistics import (
    Estimate,
    binomial,
    fisher_mean,
    ratio_of_means,
    sign_flip,
    undefined,
)
from hyst_interp.verdicts import Verdict

PAPER_SHARE_REMOVED = 0.868
WIDEST_SHARE = 0.25
"""Largest half-width at which the share removed can agree."""
PAPER_CORRELATION = 0.999
PAPER_P = 0.0625


@dataclass(frozen=True)
class Claim:
    """One quantity of the paper and how it is read."""

    key: str
    quantity: str
    paper: str
    rule: str
    """The rule in words, as the report prints it."""
    estimate: Callable[[Evidence], Estimate]
    verdict: Callable[[Evidence, Estimate], Verdict]


@dataclass(frozen=True)
class Row:
    """A claim beside what a run found."""

    key: str
    quantity: str
    paper: str
    rule: str
    estimate: Estimate
    verdict: str
    calibrated: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready row: quantity, paper, the estimate's keys, verdict, calibrated."""
        head = {"key": self.key, "quantity": self.quantity, "paper": self.paper}
        tail = {"verdict": self.verdict, "calibrated": self.calibrated, "rule": self.rule}
        return head | self.estimate.to_dict() | tail

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> "Row":
        """The row that `to_dict` wrote."""
        own = {name: row[name] for name in ("key", "quantity", "paper", "rule", "verdict", "calibrated")}
        names = ("estimate", "low", "high", "level", "method", "unit", "n", "reason", "shape")
        return cls(estimate=Estimate(**{name: row[name] for name in names if name in row}), **own)


def _sign(estimate: Estimate, sign: int) -> Verdict:
    """Agrees when the interval lies wholly on the paper's side of 0, differs when wholly on the other."""
    if estimate.low is None or estimate.high is None or estimate.shape != "interval":
        return Verdict.UNDETERMINED
    low, high = sorted((sign * estimate.low, sign * estimate.high))
    return Verdict.AGREES if low > 0 else Verdict.DIFFERS if high < 0 else Verdict.UNDETERMINED


def _majority(successes: int, n: int) -> Verdict:
    """Agrees when every seed does, differs when at most half do."""
    return Verdict.AGREES if successes == n else Verdict.DIFFERS if 2 * successes <= n else Verdict.UNDETERMINED


def _at_hold(found: Evidence, hold: int) -> Estimate:
    if hold not in found.gap_at_hold:
        return undefined(f"the study has no hold of {hold} updates", "logits", 0)
    return estimate_of(xr.DataArray(found.gap_at_hold[hold], dims="seed"), "logits")


def _positive(found: Evidence) -> int:
    return int((found.gap_at_hold[0] > 0).sum())


def _same_sign_verdict(found: Evidence, estimate: Estimate) -> Verdict:
    """A gap of exactly 0 has no sign: it cannot agree, and it does not count against the paper."""
    positive, signed = _positive(found), int(np.count_nonzero(found.gap_at_hold[0]))
    if positive == len(found.seeds):
        return Verdict.AGREES
    return Verdict.DIFFERS if signed and 2 * positive <= signed else Verdict.UNDETERMINED


def _sign_flip_p(found: Evidence) -> Estimate:
    test = sign_flip(found.gap_at_hold[0])
    reason = f"a p-value has no interval; the smallest that {test.n} seeds can give is {test.smallest:.4g}"
    method = "exact two-sided sign-flip test, full enumeration"
    return Estimate(float(test.p), None, None, 0.95, method, "probability", test.n, reason=reason)


def _sign_flip_verdict(found: Evidence, estimate: Estimate) -> Verdict:
    if estimate.estimate is None or estimate.estimate > PAPER_P + 1e-9:
        return Verdict.UNDETERMINED
    return Verdict.AGREES if found.gap_at_hold[0].mean() > 0 else Verdict.DIFFERS


def _gone(found: Evidence, estimate: Estimate) -> Verdict:
    if 100 not in found.gap_at_hold or found.peak_gap == 0:
        return Verdict.UNDETERMINED
    outcome = relaxed(found.gap_at_hold[100], found.peak_gap).verdict
    return {Verdict.EQUIVALENT: Verdict.AGREES, Verdict.DIFFERENT: Verdict.DIFFERS}.get(outcome, Verdict.UNDETERMINED)  # type: ignore[return-value]


def _hold_100(found: Evidence) -> Estimate:
    if 100 not in found.gap_at_hold or found.peak_gap == 0:
        return _at_hold(found, 100)
    return relaxed(found.gap_at_hold[100], found.peak_gap).interval


def _share(found: Evidence) -> Estimate:
    return ratio_of_means(found.moved_by_heads, found.attenuation_gap, unit="share of the gap")


def _share_verdict(found: Evidence, estimate: Estimate) -> Verdict:
    if estimate.half_width is None:
        return Verdict.UNDETERMINED
    if estimate.excludes(PAPER_SHARE_REMOVED):
        return Verdict.DIFFERS
    return Verdict.AGREES if estimate.half_width <= WIDEST_SHARE else Verdict.UNDETERMINED


def _correlation(site: str) -> Callable[[Evidence], Estimate]:
    def estimate(found: Evidence) -> Estimate:
        values = found.correlation[site]
        if np.isnan(values).any():
            return undefined("a map has no variation over its free cells", "correlation", len(values))
        return fisher_mean(values)

    return estimate


def _correlation_verdict(found: Evidence, estimate: Estimate) -> Verdict:
    if estimate.low is None or estimate.high is None:
        return Verdict.UNDETERMINED
    if estimate.low > PAPER_CORRELATION:
        return Verdict.AGREES
    return Verdict.DIFFERS if estimate.high < PAPER_CORRELATION else Verdict.UNDETERMINED


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "arrival-gap",
        "gap on arrival",
        "+0.0976 logits",
        "by sign: agrees if the interval lies above 0, differs if below; magnitudes are not comparable",
        lambda found: _at_hold(found, 0),
        lambda found, estimate: _sign(estimate, +1),
    ),
    Claim(
        "same-sign",
        "seeds with a positive gap on arrival",
        "5 of 5",
        "agrees if every seed is positive, differs if at most half of those with a sign are; interval: exact binomial",
        lambda found: binomial(_positive(found), len(found.seeds)),
        _same_sign_verdict,
    ),
    Claim(
        "sign-flip",
        "sign-flip p of the gap on arrival",
        "0.0625",
        "agrees if p ≤ 0.0625 with a positive mean, differs if p ≤ 0.0625 with a negative one",
        _sign_flip_p,
        _sign_flip_verdict,
    ),
    Claim(
        "hold-25",
        "gap after 25 shared updates",
        "slightly reversed",
        "agrees if the interval lies below 0, differs if above",
        lambda found: _at_hold(found, 25),
        lambda found, estimate: _sign(estimate, -1),
    ),
    Claim(
        "hold-100",
        "gap after 100 shared updates",
        "close to zero",
        "equivalence (TOST) within min(0.02, 20 % of the peak |gap|): agrees if equivalent, differs if beyond it",
        _hold_100,
        _gone,
    ),
    Claim(
        "share-removed",
        "gap removed by own means of all heads at the query",
        "86.8 %",
        "agrees if 0.868 lies inside and the half-width is at most 0.25, differs if it lies outside",
        _share,
        _share_verdict,
    ),
    Claim(
        "dominant-head",
        "seeds with one dominant head in both histories",
        "the same",
        "agrees if every seed has one, differs if at most half do; interval: exact binomial",
        lambda found: binomial(int(found.same_dominant_head.sum()), len(found.seeds)),
        lambda found, estimate: _majority(int(found.same_dominant_head.sum()), len(found.seeds)),
    ),
    Claim(
        "r-resid-pre",
        "r of patching maps, residual stream",
        "> 0.999",
        "agrees if the low end is above 0.999, differs if the high end is below; both twins joined",
        _correlation("resid_pre"),
        _correlation_verdict,
    ),
    Claim(
        "r-result",
        "r of patching maps, heads",
        "> 0.999",
        "agrees if the low end is above 0.999, differs if the high end is below; both twins joined",
        _correlation("result"),
        _correlation_verdict,
    ),
)


def judge(found: Evidence, config: ClaimsConfig, name: str) -> list[Row]:
    """Every claim beside a run; studies that are not the paper's read '<name>: not comparable'."""
    rows = []
    for claim in CLAIMS:
        estimate = claim.estimate(found)
        verdict = claim.verdict(found, estimate) if config.comparable else f"{name}: not comparable"
        calibrated = claim.key in config.calibrated
        rows.append(Row(claim.key, claim.quantity, claim.paper, claim.rule, estimate, verdict, calibrated))
    return rows
