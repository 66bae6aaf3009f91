"""How the gap relaxes: the curve over updates, its peak after the last update away from p0, and whether it is gone.

Two conventions of zero stand side by side: τ counts updates since the last update at p ≠ p0, the paper's hold counts
from the end of the schedule. "Has relaxed" is an equivalence test with a margin fixed beforehand: the smaller of 0.02
logits and 20 % of the peak |gap|.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import per_seed, records, summarise
from hyst_interp.questions.gap.measure import gap
from hyst_interp.statistics import Equivalence, Estimate, equivalence

MARGIN = 0.02
SHARE_OF_PEAK = 0.2


@dataclass(frozen=True)
class Peak:
    """The largest |mean gap| once p has returned to p0 for good."""

    position: int
    tau: int | None
    """None where p never leaves p0 (δ = 0)."""
    gap: float
    """Mean over seeds, in logits."""


def gap_curve(trajectory: xr.Dataset) -> xr.DataArray:
    """Gap (seed, position) of margins (seed, order, branch, position, trial), with `tau` and `hold`."""
    return per_seed(gap(trajectory))


def equivalence_margin(peak: float) -> float:
    """The margin of "has relaxed", in logits, for a peak |gap|."""
    return min(MARGIN, SHARE_OF_PEAK * abs(peak))


def peak(curve: xr.DataArray) -> Peak:
    """The peak of a curve (seed, position) over the last stretch at p0: τ ≥ 1, or everywhere where δ is 0."""
    tau = curve["tau"].values
    never = bool(np.isnan(tau).all())  # δ = 0: p never leaves p0
    away = np.flatnonzero(~(tau >= 1) & (not never))
    last = slice(int(away[-1]) + 1 if len(away) else 0, None)
    mean = curve.mean("seed").isel(position=last)
    if not mean.sizes["position"]:
        raise ValueError("the curve has no position with τ ≥ 1; measure at least one position after the schedule's end")
    index = int(np.abs(mean.values).argmax())
    return Peak(int(mean["position"][index]), None if never else int(mean["tau"][index]), float(mean[index]))


def relaxed(values: np.ndarray, peak_gap: float) -> Equivalence:
    """Whether the gap of several seeds has gone: TOST against the margin that the peak allows."""
    return equivalence(np.asarray(values, dtype=np.float64), max(equivalence_margin(peak_gap), 1e-9))


def at_holds(values: xr.DataArray) -> dict[int, Estimate]:
    """Hold → estimate over seeds of an array (seed, hold)."""
    return {row["hold"]: row["estimate"] for row in records(summarise(values, "logits"), "hold")}
