"""From a run's labelled arrays to one value a seed for every quantity of the paper.

A seed's value is its mean over data orders; maps are averaged over orders before they are compared. Nothing is judged
here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from hyst_interp.questions.attenuation.measure import logits_moved
from hyst_interp.questions.gap.measure import gap
from hyst_interp.questions.gap.relaxation import gap_curve, peak, per_seed
from hyst_interp.questions.similarity.measure import (
    Similarity,
    dominant_head,
    gain,
    matched_similarity,
    mean_map,
    sibling_pairs,
    similarity,
)
from hyst_interp.streams import Stream

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
    heads = (moved["components"] == "heads") & (moved["reference"] == "own-mean")
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
            site: np.array([_finite(between(found, seed).pearson) for seed in seeds]) for site, found in sites.items()
        },
    )


def _finite(value: float | None) -> float:
    return float("nan") if value is None else value


def select(found: xr.Dataset, seed: int, branch: str, order: int | None = None) -> list[xr.Dataset]:
    """One history's effects, a Dataset a twin: averaged over orders, or of one order."""
    one = found.sel(seed=seed, branch=branch)
    one = one.mean("order") if order is None else one.sel(order=order)
    return [one.sel(twin=twin, drop=True).assign_attrs(found.attrs, twin=str(twin)) for twin in found["twin"].values]


def maps(found: xr.Dataset, seed: int, branch: str, order: int | None = None) -> list[xr.DataArray]:
    """One history's mean maps, one a twin."""
    return [mean_map(one) for one in select(found, seed, branch, order)]


def between(found: xr.Dataset, seed: int) -> Similarity:
    """From below against from above, one seed."""
    return similarity(maps(found, seed, "below"), maps(found, seed, "above"))


def siblings(found: xr.Dataset, seed: int) -> list[Similarity]:
    """The ceiling: like branches of one seed on other data."""
    orders = [int(order) for order in found["order"].values]
    return [
        similarity(maps(found, seed, branch, orders[i]), maps(found, seed, branch, orders[j]))
        for branch in ("below", "above")
        for i, j in sibling_pairs(len(orders))
    ]


def other_seeds(found: xr.Dataset, seed: int) -> list[Similarity]:
    """The floor: like branches of other seeds, heads matched within layers."""
    return floor(found)[seed]


def floor(found: xr.Dataset) -> dict[int, list[Similarity]]:
    """Seed → its floor; every map is averaged once, for there are many pairs of seeds."""
    seeds = [int(seed) for seed in found["seed"].values]
    known = {(seed, branch): maps(found, seed, branch) for seed in seeds for branch in ("below", "above")}
    return {
        seed: [
            matched_similarity(known[seed, branch], known[other, branch])
            for other in seeds
            if other != seed
            for branch in ("below", "above")
        ]
        for seed in seeds
    }


def dominant(found: xr.Dataset, seed: int):
    """The dominant head of both histories of one seed (see `topology.dominant_head`)."""
    return dominant_head(
        select(found, seed, "below"), select(found, seed, "above"), Stream("resampling", seed), resamples=200
    )


def gains(found: xr.Dataset, seed: int) -> dict[str, dict[str, float | None]]:
    """Engagement of one seed, a twin at a time."""
    sides = zip(select(found, seed, "below"), select(found, seed, "above"), strict=True)
    return {below.attrs["twin"]: gain(below, above) for below, above in sides}
