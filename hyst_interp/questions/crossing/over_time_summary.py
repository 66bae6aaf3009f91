"""Does the mechanism relax later than the behaviour? What each has left of its value at arrival, and a verdict.

Two measures, for behaviour and mechanism alike. `mean`: the mean over trials of the gap, and of the logits moved (both
directions averaged). Means can cancel, and a gap on its way through 0 says nothing of whether the histories are alike.
`rms`: the root mean square over trials, of the mechanism over both directions too, which cancels nowhere: it is 0 only
where every trial is alike.

What is left is the ratio to the own value at arrival (Fieller's interval; for `rms` that of the mean squares, its ends
rooted). `difference` is |left| of the mechanism − |left| of the behaviour, paired, with an interval from the linear
terms of both ratios; where a mean's ratio may have either sign, the interval spans both. The rule, for each measure:

    later          the interval of the difference lies above 0: the mechanism has more left
    earlier        it lies below 0
    together       it holds 0 and lies within ±`TOGETHER` of arrival's value
    undetermined   anything else, or a value at arrival that may be 0

A behaviour that overshoots has |left| again; the signed ratios are in the rows. Intervals are over seeds where there is
a `seed`, else over the trials of one pair.
"""

from dataclasses import replace
from itertools import product
from math import sqrt

import numpy as np
import xarray as xr
from jaxtyping import Float

from hyst_interp.analysis.replicates import as_arrays, over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.questions.crossing.crossing_over_time import mechanism_values
from hyst_interp.statistics import Estimate, over_trials, ratio_of_means, undefined

MEASURES = ("mean", "rms")
TOGETHER = 0.1
"""Share of the value at arrival within which behaviour and mechanism count as relaxing together."""
UNIT = "share of the value at arrival"

Values = Float[np.ndarray, " unit"]


def mechanism_rows(found: xr.Dataset) -> list[Row]:
    """One row a measure, a mechanism, and a stop.

    Keys: `measure`, `mechanism`, `position`; in logits `behaviour` and `moved`; `behaviour_left`, `moved_left`, and
    `difference` as shares of the values at arrival; `verdict` (`arrival` at the first stop).

    Args:
        found: `mechanism_course`'s Dataset, of one pair, or with dims `seed` and `order`.
    """
    values = mechanism_values(found)
    over = "seeds" if "seed" in values.dims else "trials"
    squares = (values["into_below"] ** 2 + values["into_above"] ** 2) / 2
    pairs = {"mean": (values["gap"], values["moved"]), "rms": (values["gap"] ** 2, squares)}
    rows: list[Row] = []
    for measure, both in pairs.items():
        gap, moved = (per_seed(one) if over == "seeds" else one for one in both)
        for mechanism in moved["mechanism"].values:
            one = moved.sel(mechanism=mechanism)
            for index, position in enumerate(found["position"].values):
                row: Row = {"measure": measure, "mechanism": str(mechanism), "position": int(position)}
                now, then = ((gap[{"position": i}].values, one[{"position": i}].values) for i in (index, 0))
                row |= _sizes(measure, now, over) | _left(measure, now, then, over)
                row["verdict"] = "arrival" if index == 0 else verdict(row["difference"])  # type: ignore[arg-type]
                rows.append(row)
    return rows


def verdict(difference: Estimate) -> str:
    """`later`, `earlier`, `together`, or `undetermined`, by the module's rule."""
    low, high = difference.low, difference.high
    if low is None or high is None:
        return "undetermined"
    if low > 0 or high < 0:
        return "later" if low > 0 else "earlier"
    return "together" if max(-low, high) <= TOGETHER else "undetermined"


def mechanism_arrays(rows: list[Row]) -> xr.Dataset:
    """Rows for a figure: `estimate`, `low`, `high`, dims (quantity, measure, mechanism, position), and `verdict`."""
    names = ("behaviour", "moved", "behaviour_left", "moved_left", "difference")
    coords = {dim: list(dict.fromkeys(row[dim] for row in rows)) for dim in ("measure", "mechanism", "position")}
    shape = tuple(len(labels) for labels in coords.values())
    columns = []
    for name in names:
        flat = as_arrays([one for row in rows if isinstance(one := row[name], Estimate)], "cell")
        columns.append(xr.Dataset({key: (tuple(coords), one.values.reshape(shape)) for key, one in flat.items()}))
    joined = xr.concat(columns, "quantity").assign_coords(quantity=list(names), **coords)
    words = np.array([str(row["verdict"]) for row in rows]).reshape(shape)
    return joined.assign(verdict=(tuple(coords), words))


def _sizes(measure: str, now: tuple[Values, Values], over: str) -> dict[str, Estimate]:
    sizes = [_mean(one, "logits", over) for one in now]
    if measure == "rms":
        sizes = [rooted(one) for one in sizes]
    return dict(zip(("behaviour", "moved"), sizes, strict=True))


def _left(measure: str, now: tuple[Values, Values], then: tuple[Values, Values], over: str) -> dict[str, Estimate]:
    left = [ratio_of_means(one, arrival, UNIT, over=over) for one, arrival in zip(now, then, strict=True)]
    if measure == "rms":
        left = [rooted(one) for one in left]
    found = dict(zip(("behaviour_left", "moved_left"), left, strict=True))
    return found | {"difference": _difference(measure, now, then, left, over)}


def _difference(
    measure: str, now: tuple[Values, Values], then: tuple[Values, Values], left: list[Estimate], over: str
) -> Estimate:
    """|left| of the mechanism − |left| of the behaviour, by the linear terms of both ratios."""
    for one in left:
        if one.low is None:
            return undefined(one.reason or "no interval", UNIT, one.n)
    terms, signs = [], []
    for one, at, arrival in zip(left, now, then, strict=True):
        ratio = float(at.mean() / arrival.mean())
        slope = (at - ratio * arrival) / arrival.mean()
        if measure == "rms":
            ratio, slope = sqrt(ratio), slope / (2 * sqrt(ratio)) if ratio else slope
        terms.append((ratio, slope))
        signs.append((1.0, -1.0) if one.contains(0) and measure == "mean" else (1.0 if ratio >= 0 else -1.0,))
    (gap, gap_slope), (moved, moved_slope) = terms
    ends = [
        _mean(plus * (moved + moved_slope) - minus * (gap + gap_slope), UNIT, over) for minus, plus in product(*signs)
    ]
    low, high = min(float(one.low or 0) for one in ends), max(float(one.high or 0) for one in ends)
    method = f"{ends[0].method}, linear terms of both ratios"
    return replace(ends[0], estimate=abs(moved) - abs(gap), low=low, high=high, method=method)


def rooted(squares: Estimate) -> Estimate:
    """The estimate of a mean square, or of a ratio of such, as one of its root; an end below 0 becomes 0."""
    roots = [None if end is None else sqrt(max(end, 0.0)) for end in (squares.estimate, squares.low, squares.high)]
    return replace(
        squares, estimate=roots[0], low=roots[1], high=roots[2], method=f"{squares.method}, of squares, rooted"
    )


def _mean(values: Values, unit: str, over: str) -> Estimate:
    return over_seeds(xr.DataArray(values, dims="seed"), unit) if over == "seeds" else over_trials(values, unit)
