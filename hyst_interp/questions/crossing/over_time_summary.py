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

from itertools import product

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import QUANTITY, join, replicate_of, replicates, shares, summarise
from hyst_interp.questions.crossing.crossing_over_time import over_time_values
from hyst_interp.verdicts import Verdict

MEASURES = ("mean", "rms")
TOGETHER = 0.1
"""Share of the value at arrival within which behaviour and mechanism count as relaxing together."""
UNIT = "share of the value at arrival"


def over_time_table(followed: xr.Dataset) -> xr.Dataset:
    """The table of every measure, mechanism, and stop, dims (quantity, measure, mechanism, position).

    Quantities: in logits `behaviour` and `moved`; `behaviour_left`, `moved_left`, and `difference` as shares of the
    values at arrival. The coordinate `verdict` (measure, mechanism, position) is `arrival` at the first stop.

    Args:
        followed: `crossing_over_time`'s Dataset, of one pair, or with dims `seed` and `order`.
    """
    values = over_time_values(followed).drop_vars("tau", errors="ignore")
    squares = (values["into_below"] ** 2 + values["into_above"] ** 2) / 2
    gap, moved = (
        xr.concat([replicates(mean), replicates(square)], "measure").assign_coords(measure=list(MEASURES))
        for mean, square in ((values["gap"], values["gap"] ** 2), (values["moved"], squares))
    )
    sizes = [_of_roots(summarise(quantity, "logits")) for quantity in (gap, moved)]
    left = [_of_roots(shares(quantity, quantity.isel(position=0, drop=True), UNIT)) for quantity in (gap, moved)]
    difference = _difference(gap, moved, *left)
    names = ("behaviour", "moved", "behaviour_left", "moved_left", "difference")
    table = join(dict(zip(names, (*sizes, *left, difference), strict=True)))
    table = table.transpose(QUANTITY, "measure", "mechanism", "position")
    arrival = table["position"] == table["position"][0]
    words = xr.where(arrival, Verdict.ARRIVAL, verdicts(difference)).transpose("measure", "mechanism", "position")
    return table.assign_coords(verdict=words.drop_vars(list(words.coords)))


def verdicts(difference: xr.Dataset) -> xr.DataArray:
    """`later`, `earlier`, `together`, or `undetermined` for every cell of a table, by the module's rule."""
    low, high = difference["low"], difference["high"]
    known = xr.where(np.maximum(-low, high) <= TOGETHER, Verdict.TOGETHER, Verdict.UNDETERMINED)  # NaN is undetermined
    return xr.where(low > 0, Verdict.LATER, xr.where(high < 0, Verdict.EARLIER, known))


def rooted(squares: xr.Dataset) -> xr.Dataset:
    """The table of mean squares, or of ratios of such, as one of their roots; an end below 0 becomes 0."""
    roots = {name: np.sqrt(squares[name].clip(0)) for name in ("estimate", "low", "high")}
    return squares.assign(roots | {"method": squares["method"] + ", of squares, rooted"})


def _of_roots(table: xr.Dataset) -> xr.Dataset:
    """A table by measure, that of root mean squares rooted."""
    return xr.concat([table.sel(measure=["mean"]), rooted(table.sel(measure=["rms"]))], "measure")


def _difference(gap: xr.DataArray, moved: xr.DataArray, gap_left: xr.Dataset, moved_left: xr.Dataset) -> xr.Dataset:
    """|left| of the mechanism − |left| of the behaviour, by the linear terms of both ratios.

    Undefined, with the reason of the first that is, where either ratio is.
    """
    gap_left, moved_left = xr.broadcast(gap_left, moved_left)
    known = gap_left["low"].notnull() & moved_left["low"].notnull()
    behaviour, mechanism = (_linear(quantity.where(known)) for quantity in (gap, moved))
    of_either_sign = []
    for minus, plus in product((1.0, -1.0), repeat=2):
        table = summarise(plus * mechanism - minus * behaviour, UNIT)
        allowed = _may_have(gap_left, behaviour, minus) & _may_have(moved_left, mechanism, plus)
        of_either_sign.append(table.assign({end: table[end].where(allowed) for end in ("low", "high")}))
    table = of_either_sign[0]
    sizes = [abs(quantity.mean(replicate_of(quantity))) for quantity in (mechanism, behaviour)]
    table = table.assign(
        estimate=sizes[0] - sizes[1],
        low=xr.concat([signed_table["low"] for signed_table in of_either_sign], "sign").min("sign"),
        high=xr.concat([signed_table["high"] for signed_table in of_either_sign], "sign").max("sign"),
        method=table["method"] + ", linear terms of both ratios",
    )
    blamed = xr.where(gap_left["low"].isnull(), gap_left, moved_left)
    reason = xr.where(blamed["reason"] == "", "no interval", blamed["reason"])
    undefined = {"reason": reason, "n": blamed["n"], "method": "none"}
    return table.assign({name: xr.where(known, table[name], word) for name, word in undefined.items()})


def _linear(values: xr.DataArray) -> xr.DataArray:
    """The ratio to the mean at arrival, with its linear terms: a number a replicate whose mean is the ratio."""
    dim = replicate_of(values)
    then = values.isel(position=0, drop=True)
    ratio = values.mean(dim) / then.mean(dim)
    slope = (values - ratio * then) / then.mean(dim)
    root = ratio.where(values["measure"] == "rms") ** 0.5
    of_root = root + xr.where(root > 0, slope / (2 * root.where(root > 0, 1.0)), slope)
    return xr.where(values["measure"] == "rms", of_root, ratio + slope)


def _may_have(left: xr.Dataset, terms: xr.DataArray, sign: float) -> xr.DataArray:
    """Whether a ratio may have a sign: a mean's either where its interval holds 0, else that of its estimate."""
    either = (left["low"] <= 0) & (left["high"] >= 0) & (left["measure"] == "mean")
    positive = terms.mean(replicate_of(terms)) >= 0
    return either | (positive if sign > 0 else ~positive)
