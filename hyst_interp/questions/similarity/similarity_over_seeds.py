"""Likeness of maps over a whole run: between the histories, beside its ceiling (siblings) and its floor (other seeds).

A number a seed for the histories; a ceiling and a floor of a seed are the means of its comparisons on Fisher's z.
Correlations crowd below 1, so `unlikeness`, 1 − r, is given too: that is what a figure can space out.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import estimate_of
from hyst_interp.questions.similarity.comparisons import between, floor, siblings
from hyst_interp.questions.similarity.measure import Similarity
from hyst_interp.statistics import Estimate, fisher_mean, undefined

KINDS = ("histories", "ceiling", "floor")
"""From below against from above; like branches on other data; like branches of other seeds."""
NEAREST = 1e-6
"""Smallest 1 − r that `unlikeness` tells apart."""


@dataclass(frozen=True)
class Likeness:
    """One site's comparisons, seed by seed."""

    site: str
    found: dict[str, dict[int, list[Similarity]]]
    """Kind → seed → comparisons."""

    @property
    def cells(self) -> int:
        """Free cells of a map (the twins' maps joined)."""
        return next(iter(self.found["histories"].values()))[0].cells

    @property
    def few(self) -> bool:
        """Whether there are too few cells for a verdict."""
        return next(iter(self.found["histories"].values()))[0].few

    def correlation(self, kind: str, which: str = "pearson") -> Estimate:
        """Mean correlation over seeds on Fisher's z; undefined where no comparison has one.

        The floor has no interval: every pair of seeds stands behind two seeds' values, so these are not independent.
        """
        values = [fisher for some in self.found[kind].values() if (fisher := _mean(some, which)) is not None]
        if not values:
            return undefined(f"there is nothing to compare for the {kind}", "correlation", 0)
        mean = fisher_mean(np.array(values))
        if kind != "floor":
            return mean
        reason = "pairs of seeds share seeds, so their values are not independent"
        method = "mean on Fisher z over pairs of seeds"
        return Estimate(mean.estimate, None, None, mean.level, method, mean.unit, mean.n, reason)

    def distance(self, kind: str) -> Estimate:
        """Mean over seeds of each seed's median distance, in logits."""
        values = [float(np.median([s.distance for s in some])) for some in self.found[kind].values() if some]
        unit = "distance in logits"
        if not values:
            return undefined("nothing to compare", unit, 0)
        return estimate_of(xr.DataArray(values, dims="seed"), unit)

    def unlikeness(self) -> xr.DataArray:
        """1 − r of every comparison, dims (kind, seed, comparison), NaN where there is none; at least `NEAREST`."""
        seeds = list(self.found["histories"])
        longest = max(len(some) for kind in KINDS for some in self.found[kind].values())
        values = np.full((len(KINDS), len(seeds), longest), np.nan)
        for i, kind in enumerate(KINDS):
            for j, seed in enumerate(seeds):
                for k, comparison in enumerate(self.found[kind][seed]):
                    if comparison.pearson is not None:
                        values[i, j, k] = max(1 - comparison.pearson, NEAREST)
        return xr.DataArray(
            values,
            {"kind": list(KINDS), "seed": seeds},
            ("kind", "seed", "comparison"),
            attrs={"units": "1 − Pearson r", "site": self.site},
        )


def likeness(effects: xr.Dataset) -> Likeness:
    """Every comparison of one site's effects (seed, order, branch, twin, …, trial)."""
    seeds = [int(seed) for seed in effects["seed"].values]
    comparisons = {
        "histories": {seed: [between(effects, seed)] for seed in seeds},
        "ceiling": {seed: siblings(effects, seed) for seed in seeds},
        "floor": floor(effects),
    }
    return Likeness(str(effects.attrs["site"]), comparisons)


def _mean(comparisons: list[Similarity], which: str) -> float | None:
    values = [getattr(comparison, which) for comparison in comparisons]
    if not values or any(value is None for value in values):
        return None
    return fisher_mean(np.array(values)).estimate
