"""From a run's labelled arrays to one value a seed for every quantity of the paper.

A seed's value is its mean over data orders; maps are averaged over orders before they are compared. Nothing is judged
here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.summary import per_seed
from hyst_interp.questions.gap.measure import gap
from hyst_interp.questions.gap.relaxation import gap_curve, peak
from hyst_interp.questions.similarity.comparisons import between, dominant
from hyst_interp.references import OWN_MEAN

Results = Mapping[str, xr.Dataset]
"""Merged results by file name without its ending (`behaviour`, `trajectory`, `attenuation-hold-000`, …)."""


@dataclass(frozen=True)
class Evidence:
    """Per-seed values; arrays have one entry a seed, in the order of `seeds`."""

    seeds: tuple[int, ...]
    gap_at_hold: dict[int, np.ndarray]
    """Hold → gap in logits."""
    peak_gap: float
    """Peak |gap| of the mean curve after the last update at p ≠ p0, in logits."""
    attenuation_gap: np.ndarray
    """Gap on the attenuation's trials, in logits."""
    moved_by_heads: np.ndarray
    """Logits moved when all query-position head outputs are replaced by own means."""
    same_dominant_head: np.ndarray
    """Whether both histories have the same dominant head (bool)."""
    correlation: dict[str, np.ndarray]
    """Site → Pearson r of the two histories' maps, both twins joined."""


def evidence(results: Results) -> Evidence:
    """Every per-seed value that the claims are judged on; KeyError where a result is missing."""
    behaviour, trajectory = results["behaviour"], results["trajectory"]
    gaps = per_seed(gap(behaviour))
    moved = logits_moved(results["attenuation-hold-000"])
    heads = (moved["components"] == "heads") & (moved["reference"] == OWN_MEAN.name)
    seeds = tuple(int(seed) for seed in behaviour["seed"].values)
    sites = {site: results[f"patching-{site}"] for site in ("resid_pre", "result")}
    return Evidence(
        seeds=seeds,
        gap_at_hold={int(hold): gaps.sel(hold=hold).values for hold in gaps["hold"].values},
        peak_gap=peak(gap_curve(trajectory)).gap,
        attenuation_gap=per_seed(moved["gap"]).values,
        moved_by_heads=per_seed(moved["moved"].isel(row=np.flatnonzero(heads.values)[0])).values,
        same_dominant_head=np.array([dominant(sites["result"], seed).same for seed in seeds]),
        correlation={
            site: np.array([_finite(between(effects, seed).pearson) for seed in seeds])
            for site, effects in sites.items()
        },
    )


def _finite(value: float | None) -> float:
    return float("nan") if value is None else value
