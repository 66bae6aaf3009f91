"""The stretches of a relaxing gap, named by rule: lag, overshoot, ring-down.

The mean curve over seeds is cut where its sign changes, from the last update at p ≠ p0 on (τ ≥ 0). The first stretch
below 0 before any above it is the *lag*: from below is less contextual, as of a network that stays behind its mixture.
The first stretch above 0 is the *overshoot*, the opposite of lag; the next below 0 is the *ring-down*. A stretch is
named only if the mean leaves ±margin somewhere in it, for the sign of noise is no phase.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import estimate_of
from hyst_interp.statistics import Estimate

NAMES = ("lag", "overshoot", "ring-down")
SIGNS = {"lag": -1, "overshoot": +1, "ring-down": -1}


@dataclass(frozen=True)
class Phase:
    """One named stretch of the mean curve."""

    name: str
    first: int
    """Position of its first measured point."""
    last: int
    """Position of its last measured point."""
    extreme: int
    """Position where the mean is largest in size."""
    gap: Estimate
    """The gap there, over seeds. The place was chosen by the mean, so the size is a little flattered."""


def relaxation_start(curve: xr.DataArray) -> int:
    """Index of the last position with τ = 0; of the fork where p never left p0."""
    away = np.flatnonzero(curve["tau"].values == 0)
    return int(away[-1]) if len(away) else 0


def phases(curve: xr.DataArray, margin: float) -> list[Phase]:
    """Named stretches of a gap curve (seed, position) with the coordinate `tau`; `margin` in logits."""
    start = relaxation_start(curve)
    late = curve.isel(position=slice(start, None))
    mean = late.mean("seed").values
    sign = np.sign(mean)
    cuts = [0, *(np.flatnonzero(sign[1:] != sign[:-1]) + 1), len(mean)]
    named: list[Phase] = []
    for first, end in pairwise(cuts):
        stretch = slice(int(first), int(end))
        name = _name(float(sign[first]), [phase.name for phase in named])
        if name is None or np.abs(mean[stretch]).max() <= margin:
            continue
        top = int(first) + int(np.abs(mean[stretch]).argmax())
        at = [int(late["position"].values[i]) for i in (first, end - 1, top)]
        number = estimate_of(late.isel(position=top), "logits")
        named.append(Phase(name, at[0], at[1], at[2], number))
    return named


def _name(sign: float, before: list[str]) -> str | None:
    """The next name that a stretch of this sign can have."""
    if sign > 0:
        return "overshoot" if "overshoot" not in before else None
    if sign < 0 and "ring-down" not in before:
        return "ring-down" if "overshoot" in before else None if "lag" in before else "lag"
    return None
