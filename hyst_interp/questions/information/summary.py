"""Mean and information as shares of the gap, four ways that agree in a linear network, and a verdict for each.

Write W for what moving a component wholly moves of the gap, M for its mean part and I for its input-dependent part, all
in logits. Where everything after the component is linear, W = M + I exactly; where it is also alike in both histories,
the replacements of `information` move

    whole W      mean M      information I      own-mean I      pooled-mean W      anchor-mean W      other-mean W + M

(donors count as the mean of both directions, means as gap − gap after, as in `comparison.attenuation`). So there are
four estimators of (M, I): `parts moved` (M, I); `own and pooled` (pooled − own, own); `own and anchor` (anchor − own,
own); `own and other` ((other − own)/2, own). Each has its remainder W − M − I, which is 0 in a linear network and says
here what curvature adds, and with means what else differs after the component: too large, and the two parts are no
division of the whole.

An estimator is *trusted* for a component when, in both histories and for every replacement that it uses, the whole
included, (1) at least `MASS_KEPT` of the answer mass P(contextual) + P(fixed) is kept, and (2) the mean KL from before
is at most `DIVERGENCE` nats; (3) the remainder is at most `TOLERANCE` of the gap in size; and (4), for `parts moved`
alone, so is half the difference of the two directions of each part. (Means have no directions.) Every bound has to hold
for the whole interval, not for the point estimate alone, and without a gap that differs from 0 nothing can be judged.
No condition looks at the size of the parts themselves: a large share is neither for an estimator nor against it. Trust
is to `TOLERANCE` of the gap: parts smaller than that may still be wrong by as much as they are.
"""

import numpy as np
import xarray as xr

from hyst_interp.analysis.exchange import exchanged
from hyst_interp.analysis.replicates import as_arrays, over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions.information.measure import PARTS
from hyst_interp.statistics import Estimate, over_trials, ratio_of_means

ESTIMATORS = {
    "parts moved": PARTS,
    "own and pooled": ("whole", "own-mean", "pooled-mean"),
    "own and anchor": ("whole", "own-mean", "anchor-mean"),
    "own and other": ("whole", "own-mean", "other-mean"),
}
"""Estimator → replacements that it uses."""
MASS_KEPT, DIVERGENCE, TOLERANCE = 0.9, 0.1, 0.1
"""Share of the answer mass; nats (a shift of the margin by about 0.9 logits); share of the gap."""
QUANTITIES = ("whole", "mean", "information", "remainder")


def information_parts(found: xr.Dataset) -> xr.Dataset:
    """Mean and input-dependent part of every component by every estimator, trials and further dims (seed, order) kept.

    Returns:
        In logits, float64: `gap`; `moved` (replacement, components), `interaction` (replacement, components), half the
        difference of the two directions, NaN for means; `mean`, `information`, `remainder` (estimator, components).
    """
    values = exchanged(found)
    is_part = found["replacement"].isin(PARTS)
    moved = xr.where(is_part, values["moved"], values["into_below"] + values["into_above"])
    interaction = values["interaction"].where(is_part)
    names = [name for name, used in ESTIMATORS.items() if set(used) <= set(found["replacement"].values)]
    split = [
        _split(name, {str(r): moved.sel(replacement=r, drop=True) for r in moved["replacement"].values})
        for name in names
    ]
    parts = xr.concat(split, "estimator").assign_coords(estimator=names)
    parts = parts.assign(remainder=moved.sel(replacement="whole", drop=True) - parts["mean"] - parts["information"])
    parts = parts.assign(gap=values["gap"], moved=moved, interaction=interaction)
    parts = parts.transpose("estimator", "replacement", "components", ...)
    return parts.map(lambda one: one.assign_attrs(units="logits"))


def _split(estimator: str, moved: dict[str, xr.DataArray]) -> xr.Dataset:
    if estimator == "parts moved":
        return xr.Dataset({"mean": moved["mean"], "information": moved["information"]})
    own = moved["own-mean"]
    match estimator:
        case "own and pooled":
            mean = moved["pooled-mean"] - own
        case "own and anchor":
            mean = moved["anchor-mean"] - own
        case _:
            mean = (moved["other-mean"] - own) / 2
    return xr.Dataset({"mean": mean, "information": own})


def information_rows(found: xr.Dataset) -> list[Row]:
    """One row an estimator and a component; estimates over seeds where there is a `seed`, else over trials of one pair.

    Keys: `components`, `estimator`, `verdict` (`trusted` or `not trusted`), `reason` (the first condition that fails,
    with its numbers); in logits `whole`, `mean`, `information`, `remainder`; the last three as `…_share` of the gap.
    """
    over, reduced = _units(found)
    values = information_parts(found)
    values = values.map(per_seed) if over == "seeds" else values
    gap = _estimate(values["gap"], over)
    rows: list[Row] = []
    for name in values["estimator"].values:
        for component in values["components"].values:
            here = values.sel(estimator=name, components=component)
            row: Row = {"components": str(component), "estimator": str(name)}
            row["whole"] = _estimate(here["moved"].sel(replacement="whole", drop=True), over)
            for part in QUANTITIES[1:]:
                row[part] = _estimate(here[part], over)
                share = ratio_of_means(here[part].values, here["gap"].values, "share of the gap", over=over)
                row[f"{part}_share"] = share
            reason = _failure(str(name), here, reduced.sel(components=component), gap, over)
            rows.append(row | {"verdict": "not trusted" if reason else "trusted", "reason": reason})
    return rows


def distance_rows(found: xr.Dataset) -> list[Row]:
    """One row a replacement and a component: how far it takes the networks from where they were.

    Keys: `components`, `replacement`; `answer_mass` after and `mass_lost`, means over histories; `margin_after_below`,
    `margin_after_above`; `divergence` (nats) and `divergence_ratio`, its ratio to the KL between the two histories; and
    `stream_change`.
    """
    over, reduced = _units(found)
    both = reduced.mean("branch")
    rows: list[Row] = []
    for name in found["replacement"].values:
        for component in found["components"].values:
            here = both.sel(replacement=name, components=component)
            margins = reduced["margin_after"].sel(replacement=name, components=component)
            row: Row = {"components": str(component), "replacement": str(name)}
            row["answer_mass"] = _estimate(here["answer_mass_after"], over, "probability")
            row["mass_lost"] = _estimate(here["answer_mass"] - here["answer_mass_after"], over, "probability")
            for branch in BRANCHES:
                row[f"margin_after_{branch}"] = _estimate(margins.sel(branch=branch), over)
            row["divergence"] = _estimate(here["divergence"], over, "nats")
            between = here["divergence_between"].values
            unit = "KL between the histories"
            row["divergence_ratio"] = ratio_of_means(here["divergence"].values, between, unit, over=over)
            row["stream_change"] = _estimate(here["stream_change"], over, "share of its norm")
            rows.append(row)
    return rows


def information_arrays(rows: list[Row]) -> xr.Dataset:
    """`information_rows` for a figure: `estimate`, `low`, `high`, dims (quantity, estimator, components), in logits.

    Also `verdict` and `reason` (estimator, components), as text.
    """
    arrays = _arrays(rows, "estimator", QUANTITIES)
    shape = arrays.sizes["estimator"], arrays.sizes["components"]
    for name in ("verdict", "reason"):
        arrays[name] = (("estimator", "components"), np.array([str(row[name]) for row in rows]).reshape(shape))
    return arrays


def distance_arrays(rows: list[Row]) -> xr.Dataset:
    """`distance_rows` for a figure: dims (quantity, replacement, components); `divergence`, `mass_lost`, and others."""
    return _arrays(rows, "replacement", ("divergence", "mass_lost", "stream_change"))


def _arrays(rows: list[Row], dim: str, quantities: tuple[str, ...]) -> xr.Dataset:
    first = list(dict.fromkeys(str(row[dim]) for row in rows))
    second = list(dict.fromkeys(str(row["components"]) for row in rows))
    columns = []
    for quantity in quantities:
        flat = as_arrays([one for row in rows if isinstance(one := row[quantity], Estimate)], "cell")
        columns.append(
            xr.Dataset(
                {
                    name: ((dim, "components"), one.values.reshape(len(first), len(second)))
                    for name, one in flat.items()
                },
                attrs=flat.attrs,
            )
        )
    joined = xr.concat(columns, "quantity", combine_attrs="drop_conflicts")
    return joined.assign_coords({"quantity": list(quantities), dim: first, "components": second})


def _units(found: xr.Dataset) -> tuple[str, xr.Dataset]:
    """What the intervals are over, and every variable with one value a unit."""
    if "seed" in found.dims:
        return "seeds", found.map(lambda one: per_seed(one.astype("float64")))
    return "trials", found.astype("float64")


def _estimate(values: xr.DataArray, over: str, unit: str = "logits") -> Estimate:
    if over == "seeds":
        return over_seeds(values.reset_coords(drop=True), unit)
    return over_trials(values.values, unit)


def _failure(estimator: str, here: xr.Dataset, distances: xr.Dataset, gap: Estimate, over: str) -> str:
    """The first condition of the module's rule that fails, in words; empty where all hold."""
    if gap.estimate is None or not gap.excludes(0):
        return f"the gap may be 0 ({gap.text()}), so there is no scale to judge by"
    for replacement in ESTIMATORS[estimator]:
        for branch in BRANCHES:
            one = distances.sel(branch=branch)
            after = one.sel(replacement=replacement)
            kept = _estimate(after["answer_mass_after"] - MASS_KEPT * one["answer_mass"], over, "probability")
            where = f"'{replacement}' in from {branch}"
            if kept.low is None or kept.low < 0:
                mean = _estimate(after["answer_mass_after"], over, "probability")
                return f"answer mass under {where} is {mean.text()}, not surely {MASS_KEPT:.0%} of what it was"
            far = _estimate(after["divergence"], over, "nats")
            if far.high is None or far.high > DIVERGENCE:
                return f"{where} is {far.text()} from where it was, not surely within {DIVERGENCE:g} nats"
    bound = TOLERANCE * abs(gap.estimate)
    checks = {"the remainder": here["remainder"]}
    if estimator == "parts moved":
        half = here["interaction"]
        checks |= {f"half the directions' difference of '{r}'": half.sel(replacement=r, drop=True) for r in PARTS}
    for name, values in checks.items():
        one = _estimate(values, over)
        if one.low is None or one.high is None or max(-one.low, one.high) > bound:
            return f"{name} is {one.text()}, not surely within {TOLERANCE:.0%} of the gap ({bound:.2g} logits)"
    return ""
