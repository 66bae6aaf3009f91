"""The same circuit, how strongly engaged: similarity and gain of the same two raw maps, side by side.

Similarity is scale-free and gain is scale alone, so the two answer different questions. Both are taken for the
histories, for siblings (what two runs of one history differ by), and for other seeds. The gain of the histories has an
interval over seeds, and beside it stands the smallest |gain − 1| that so many seeds could have seen.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import estimate_of
from hyst_interp.questions.gap.variance import WANTED, deviation_of
from hyst_interp.questions.similarity.similarity_over_seeds import KINDS, NEAREST, Likeness
from hyst_interp.statistics import Estimate, detectable, ratio_of_means, undefined


@dataclass(frozen=True)
class Engagement:
    """Similarity and gain of one site's maps."""

    site: str
    axis: str
    points: xr.Dataset
    """`unlike` (1 − Pearson r) and `gain` (slope), dims (kind, seed, comparison), NaN where there is none."""
    gain: Estimate
    """Slope of the map from above on the one from below, over seeds; both twins joined."""
    detectable: float | None
    """The smallest |gain − 1| that these seeds see with power 0.8; None without scatter between seeds."""
    siblings_apart: Estimate
    """The histories' distance in units of their siblings' median distance, ratio of means over seeds."""


def engagement(alike: Likeness, axis: str = "role") -> Engagement:
    """From every comparison of one site to one place in the plane of similarity and gain."""
    seeds = list(alike.found["histories"])
    longest = max(len(some) for kind in KINDS for some in alike.found[kind].values())
    unlike, slopes = (np.full((len(KINDS), len(seeds), longest), np.nan) for _ in range(2))
    for i, kind in enumerate(KINDS):
        for j, seed in enumerate(seeds):
            for k, comparison in enumerate(alike.found[kind][seed]):
                if comparison.pearson is not None and comparison.slope is not None:
                    unlike[i, j, k], slopes[i, j, k] = max(1 - comparison.pearson, NEAREST), comparison.slope
    dims = ("kind", "seed", "comparison")
    points = xr.Dataset({"unlike": (dims, unlike), "gain": (dims, slopes)}, {"kind": list(KINDS), "seed": seeds})
    own = slopes[0, :, 0]
    known = own[np.isfinite(own)]
    deviation = deviation_of(known)
    return Engagement(
        alike.site,
        axis,
        points.assign_attrs(site=alike.site, axis=axis),
        estimate_of(xr.DataArray(known, dims="seed"), "ratio"),
        None if deviation is None else detectable(deviation, len(known), WANTED),
        siblings_apart(alike),
    )


def siblings_apart(alike: Likeness) -> Estimate:
    """Distance of the histories over the median distance of siblings: ratio of means over seeds, Fieller's interval."""
    seeds = [seed for seed, some in alike.found["ceiling"].items() if some]
    unit = "distances of siblings"
    if not seeds:
        return undefined("there are no siblings", unit, 0)
    apart = np.array([alike.found["histories"][seed][0].distance for seed in seeds])
    yard = np.array([np.median([comparison.distance for comparison in alike.found["ceiling"][seed]]) for seed in seeds])
    return ratio_of_means(apart, yard, unit=unit)
