"""Comparisons of one run's maps: between the histories, with siblings, and with other seeds; and the dominant heads.

Maps are averaged over data orders before they are compared; siblings are single orders.
"""

import xarray as xr

from hyst_interp.analysis.maps import maps, select
from hyst_interp.questions.similarity.measure import (
    Similarity,
    dominant_head,
    gain,
    matched_similarity,
    sibling_pairs,
    similarity,
)
from hyst_interp.streams import Stream


def between(effects: xr.Dataset, seed: int) -> Similarity:
    """From below against from above, one seed."""
    return similarity(maps(effects, seed, "below"), maps(effects, seed, "above"))


def siblings(effects: xr.Dataset, seed: int) -> list[Similarity]:
    """The ceiling: like branches of one seed on other data."""
    orders = [int(order) for order in effects["order"].values]
    return [
        similarity(maps(effects, seed, branch, orders[i]), maps(effects, seed, branch, orders[j]))
        for branch in ("below", "above")
        for i, j in sibling_pairs(len(orders))
    ]


def other_seeds(effects: xr.Dataset, seed: int) -> list[Similarity]:
    """The floor: like branches of other seeds, heads matched within layers."""
    return floor(effects)[seed]


def floor(effects: xr.Dataset) -> dict[int, list[Similarity]]:
    """Seed → its floor; every map is averaged once, for there are many pairs of seeds."""
    seeds = [int(seed) for seed in effects["seed"].values]
    known = {(seed, branch): maps(effects, seed, branch) for seed in seeds for branch in ("below", "above")}
    return {
        seed: [
            matched_similarity(known[seed, branch], known[other, branch])
            for other in seeds
            if other != seed
            for branch in ("below", "above")
        ]
        for seed in seeds
    }


def dominant(effects: xr.Dataset, seed: int):
    """The dominant head of both histories of one seed (see `topology.dominant_head`)."""
    return dominant_head(
        select(effects, seed, "below"), select(effects, seed, "above"), Stream("resampling", seed), resamples=200
    )


def gains(effects: xr.Dataset, seed: int) -> dict[str, dict[str, float | None]]:
    """Engagement of one seed, a twin at a time."""
    sides = zip(select(effects, seed, "below"), select(effects, seed, "above"), strict=True)
    return {below.attrs["twin"]: gain(below, above) for below, above in sides}
