"""What scatter a run's gap has, what more seeds, data orders, or trials would buy, and what the run could have seen.

At each hold the per-trial gaps are taken apart into variance components (`statistics.variances`), the standard error
is foretold for designs twice as large, and the power of the run's n is given for gaps of stated sizes. Over components
the family of tests is held together by max-T. Nothing is judged here.
"""

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.summary import estimate_of, per_seed
from hyst_interp.questions.gap.measure import gap
from hyst_interp.references import DONOR, OWN_MEAN
from hyst_interp.statistics import (
    Estimate,
    MaxT,
    VarianceComponents,
    detectable,
    max_t,
    power,
    seeds_for,
    variance_components,
)
from hyst_interp.statistics.families import MOST_SEEDS

SIZES = (0.02, 0.05, 0.1, 0.2)
"""Gaps in logits that power is given for; the first is the largest margin of "has relaxed"."""
CHEAPEST_FIRST = ("trials", "orders", "seeds")
WANTED = 0.8
"""Power at which a gap counts as one that would be seen."""


@dataclass(frozen=True)
class Spread:
    """The scatter of the gap at one hold."""

    hold: int
    gap: Estimate
    components: VarianceComponents | None
    """None below two seeds, orders, or trials."""
    deviation: float | None
    """Standard deviation of the seeds' values, in logits; None below two seeds or without any scatter."""
    power: dict[float, float]
    """Size of a gap in logits → power of the run's seeds to see it; empty without a deviation."""
    seeds_for: dict[float, int | None]
    """Size → seeds that would see it at `WANTED` power, None above 1,000."""
    detectable: float | None
    """The smallest gap that the run's seeds see with `WANTED` power, in logits."""

    @property
    def buy(self) -> str | None:
        """What to double: the cheapest of `trials`, `orders`, `seeds` that brings at least half of what seeds bring.

        Trials cost evaluations, orders cost branches, seeds cost anchors too. No purchase brings more than seeds do:
        twice the seeds divide the whole variance by two. None where no components are known or nothing scatters.
        """
        if self.components is None:
            return None
        errors = self.components.purchases()
        now = errors["as it is"]
        if now <= 1e-12:
            return None
        brought = {name: now - error for name, error in errors.items()}
        return next(name for name in CHEAPEST_FIRST if brought[name] >= brought["seeds"] / 2)


@dataclass(frozen=True)
class Family:
    """A reference's single components, tested together: does replacing them move the gap?"""

    reference: str
    components: tuple[str, ...]
    tests: MaxT


def spreads(behaviour: xr.Dataset) -> list[Spread]:
    """The scatter at every hold, of margins (seed, order, hold, branch, trial)."""
    values = gap(behaviour).transpose("seed", "order", "hold", "trial")
    return [_spread(values.sel(hold=hold, drop=True), int(hold)) for hold in values["hold"].values]


def deviation_of(values: np.ndarray) -> float | None:
    """Standard deviation between seeds; None where fewer than two, or no scatter, leave power without a meaning."""
    if len(values) < 2:
        return None
    deviation = float(np.std(values, ddof=1))
    rounding = 1e-12 * max(float(np.abs(values).max()), 1e-300)
    return deviation if deviation > rounding and math.isfinite(deviation) else None


def families(attenuation: xr.Dataset, references: tuple[str, ...] = (OWN_MEAN.name, DONOR.name)) -> list[Family]:
    """Max-T over the single components of each reference, logits moved a seed; none for a seed alone or above 18."""
    moved = per_seed(logits_moved(attenuation)["moved"]).transpose("seed", "row")
    if not 2 <= moved.sizes["seed"] <= MOST_SEEDS:
        return []
    names = [str(name) for name in moved["components"].values]
    tested = []
    for reference in references:
        rows = [
            i
            for i, (name, of_row) in enumerate(zip(names, moved["reference"].values, strict=True))
            if of_row == reference and name not in ("heads", "mlps", "all") and "+" not in name
        ]
        if rows:
            tests = max_t(moved.isel(row=rows).values)
            tested.append(Family(reference, tuple(names[i] for i in rows), tests))
    return tested


def _spread(values: xr.DataArray, hold: int) -> Spread:
    means = per_seed(values)
    n, deviation = means.sizes["seed"], deviation_of(means.values)
    components = variance_components(values.values) if min(values.shape) >= 2 else None
    if deviation is None:
        return Spread(hold, estimate_of(means, "logits"), components, None, {}, {}, None)
    return Spread(
        hold,
        estimate_of(means, "logits"),
        components,
        deviation,
        {size: power(size, deviation, n) for size in SIZES},
        {size: seeds_for(size, deviation, WANTED) for size in SIZES},
        detectable(deviation, n, WANTED),
    )
