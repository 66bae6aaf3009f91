"""Mean and information as shares of the gap, four ways that agree in a linear network, and a verdict for each.

Write W for what moving a component wholly moves of the gap, M for its mean part and I for its input-dependent part, all
in logits. Where everything after the component is linear, W = M + I exactly; where it is also alike in both histories,
the replacements of `information` move

    whole W      mean M      information I      own-mean I      pooled-mean W      anchor-mean W      other-mean W + M

(donors count as the mean of both directions, means as gap − gap after, as in `questions.attenuation`). So there are
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
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import estimate_of, join, records, replicates, shares, summarise
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions.information.measure import OTHER_MEAN, PARTS
from hyst_interp.references import ANCHOR_MEAN, OWN_MEAN, POOLED_MEAN
from hyst_interp.statistics import Estimate
from hyst_interp.verdicts import Verdict

ESTIMATORS = {
    "parts moved": PARTS,
    "own and pooled": ("whole", OWN_MEAN.name, POOLED_MEAN.name),
    "own and anchor": ("whole", OWN_MEAN.name, ANCHOR_MEAN.name),
    "own and other": ("whole", OWN_MEAN.name, OTHER_MEAN),
}
"""Estimator → replacements that it uses."""
MASS_KEPT, DIVERGENCE, TOLERANCE = 0.9, 0.1, 0.1
"""Share of the answer mass; nats (a shift of the margin by about 0.9 logits); share of the gap."""
QUANTITIES = ("whole", "mean", "information", "remainder")


def information_parts(measured: xr.Dataset) -> xr.Dataset:
    """Mean and input-dependent part of every component by every estimator, trials and further dims (seed, order) kept.

    Returns:
        In logits, float64: `gap`; `moved` (replacement, components), `interaction` (replacement, components), half the
        difference of the two directions, NaN for means; `mean`, `information`, `remainder` (estimator, components).
    """
    values = exchanged(measured)
    is_part = measured["replacement"].isin(PARTS)
    moved = xr.where(is_part, values["moved"], values["into_below"] + values["into_above"])
    interaction = values["interaction"].where(is_part)
    names = [name for name, used in ESTIMATORS.items() if set(used) <= set(measured["replacement"].values)]
    split = [
        _split(name, {str(r): moved.sel(replacement=r, drop=True) for r in moved["replacement"].values})
        for name in names
    ]
    parts = xr.concat(split, "estimator").assign_coords(estimator=names)
    parts = parts.assign(remainder=moved.sel(replacement="whole", drop=True) - parts["mean"] - parts["information"])
    parts = parts.assign(gap=values["gap"], moved=moved, interaction=interaction)
    parts = parts.transpose("estimator", "replacement", "components", ...)
    return parts.map(lambda part: part.assign_attrs(units="logits"))


def _split(estimator: str, moved: dict[str, xr.DataArray]) -> xr.Dataset:
    if estimator == "parts moved":
        return xr.Dataset({"mean": moved["mean"], "information": moved["information"]})
    own = moved[OWN_MEAN.name]
    match estimator:
        case "own and pooled":
            mean = moved[POOLED_MEAN.name] - own
        case "own and anchor":
            mean = moved[ANCHOR_MEAN.name] - own
        case _:
            mean = (moved[OTHER_MEAN] - own) / 2
    return xr.Dataset({"mean": mean, "information": own})


def by_estimator(measured: xr.Dataset) -> xr.Dataset:
    """The table of parts, dims (quantity, estimator, components), over seeds or over the trials of one pair.

    Quantities: in logits `whole`, `mean`, `information`, `remainder`; the last three as `…_share` of the gap.
    Coordinates (estimator, components): `verdict` (`trusted` or `not trusted`), and `failure`, the first condition that
    fails, with its numbers, or nothing.
    """
    values = information_parts(measured)
    whole = summarise(values["moved"].sel(replacement="whole", drop=True))
    tables = {"whole": whole.expand_dims(estimator=values["estimator"].values)}
    for part in QUANTITIES[1:]:
        tables[part] = summarise(values[part])
        tables[f"{part}_share"] = shares(values[part], values["gap"])
    failures = np.array(_failures(measured, values), object).reshape(tables["mean"]["estimate"].shape)
    dims = ("estimator", "components")
    verdicts = np.where(failures == "", Verdict.TRUSTED, Verdict.NOT_TRUSTED)
    return join(tables).assign_coords(verdict=(dims, verdicts), failure=(dims, failures))


def estimator_rows(parts: xr.Dataset) -> list[Row]:
    """Rows of `by_estimator`: labels and estimates, then the `verdict` and its `reason`, the condition that fails."""
    told = {"components", "estimator", "verdict", "failure"}
    return [
        {"components": row["components"], "estimator": row["estimator"]}
        | {name: value for name, value in row.items() if name not in told}
        | {"verdict": row["verdict"], "reason": row["failure"]}
        for row in records(parts)
    ]


def by_replacement(measured: xr.Dataset) -> xr.Dataset:
    """The table of distances, dims (quantity, replacement, components): how far from where the networks were.

    Quantities: `answer_mass` after and `mass_lost`, means over histories; `margin_after_below`, `margin_after_above`;
    `divergence` (nats) and `divergence_ratio`, its ratio to the KL between the two histories; and `stream_change`.
    """
    each = measured.map(replicates)
    both = each.mean("branch")
    after = {f"margin_after_{branch}": each["margin_after"].sel(branch=branch, drop=True) for branch in BRANCHES}
    return join(
        {
            "answer_mass": summarise(both["answer_mass_after"], "probability"),
            "mass_lost": summarise(both["answer_mass"] - both["answer_mass_after"], "probability"),
            **{name: summarise(margin, "logits") for name, margin in after.items()},
            "divergence": summarise(both["divergence"], "nats"),
            "divergence_ratio": shares(both["divergence"], both["divergence_between"], "KL between the histories"),
            "stream_change": summarise(both["stream_change"], "share of its norm"),
        }
    )


def _failures(measured: xr.Dataset, values: xr.Dataset) -> list[str]:
    """For every estimator and component, in this order: the first condition that fails, in words, or nothing."""
    gap = estimate_of(values["gap"])
    each = measured.map(replicates)
    distances = join(
        {
            "kept": summarise(each["answer_mass_after"] - MASS_KEPT * each["answer_mass"], "probability"),
            "mass": summarise(each["answer_mass_after"], "probability"),
            "far": summarise(each["divergence"], "nats"),
        }
    )
    far = {(row["replacement"], row["branch"], row["components"]): row for row in records(distances)}
    left = {(row["estimator"], row["components"]): row["estimate"] for row in records(summarise(values["remainder"]))}
    halves = records(summarise(values["interaction"].sel(replacement=list(PARTS))))
    half = {(row["replacement"], row["components"]): row["estimate"] for row in halves}
    failures = []
    for estimator in map(str, values["estimator"].values):
        for component in map(str, values["components"].values):
            places = [(replacement, branch) for replacement in ESTIMATORS[estimator] for branch in BRANCHES]
            bounded = {"the remainder": left[estimator, component]}
            if estimator == "parts moved":
                bounded |= {f"half the directions' difference of '{r}'": half[r, component] for r in PARTS}
            rows = {place: far[*place, component] for place in places}
            failures.append(_failure(gap, rows, bounded))
    return failures


def _failure(gap: Estimate, distances: dict[tuple[str, str], Row], bounded: dict[str, Estimate]) -> str:
    """The first condition of the module's rule that fails, in words; empty where all hold.

    Args:
        distances: (replacement, branch) → `kept` (answer mass above what has to be kept), `mass`, and `far`.
        bounded: name → what has to stay within the tolerance.
    """
    if gap.estimate is None or not gap.excludes(0):
        return f"the gap may be 0 ({gap.text()}), so there is no scale to judge by"
    for (replacement, branch), row in distances.items():
        where = f"'{replacement}' in from {branch}"
        if row["kept"].low is None or row["kept"].low < 0:
            return f"answer mass under {where} is {row['mass'].text()}, not surely {MASS_KEPT:.0%} of what it was"
        if row["far"].high is None or row["far"].high > DIVERGENCE:
            return f"{where} is {row['far'].text()} from where it was, not surely within {DIVERGENCE:g} nats"
    bound = TOLERANCE * abs(gap.estimate)
    for name, value in bounded.items():
        if value.low is None or value.high is None or max(-value.low, value.high) > bound:
            return f"{name} is {value.text()}, not surely within {TOLERANCE:.0%} of the gap ({bound:.2g} logits)"
    return ""
