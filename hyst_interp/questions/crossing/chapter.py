"""The asymmetry of histories: places moved from one into the other, the ladder of prefixes, and what relaxes later."""

import xarray as xr

from hyst_interp.analysis.replicates import as_arrays, over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.plots.heatmap import SITES
from hyst_interp.questions.crossing.controls import ladder_ends, streams_against_ladder
from hyst_interp.questions.crossing.figure import crossing_map, ladder_steps
from hyst_interp.questions.crossing.layer_swap import climbed, ladder_arrays, ladder_rows
from hyst_interp.questions.crossing.measure import KINDS, crossing_table
from hyst_interp.questions.crossing.over_time_figure import mechanism_course
from hyst_interp.questions.crossing.over_time_summary import (
    TOGETHER,
    mechanism_arrays,
    mechanism_rows,
)
from hyst_interp.report.answers import UNDETERMINED
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import blanks, estimate, listed, method, size
from hyst_interp.statistics import Estimate

MEASURES = {"mean": "means over trials", "rms": "root mean squares over trials"}


def chapter(source: RunResults) -> Chapter | None:
    """Left out where nothing was moved between the histories."""
    moved = {kind: found for kind in KINDS if (found := source.results.get(f"crossing-{kind}")) is not None}
    ladder, course = source.results.get("ladder"), source.results.get("mechanism")
    if not moved and ladder is None and course is None:
        return None
    first = source.study.seeds[0]
    drawn = [_map(kind, found, first) for kind, found in moved.items()]
    tables, words = (
        {},
        {"maps": [one.name for one in drawn], "first": first, "ends": None, "streams": None, "later": None},
    )
    words["asymmetry"] = _asymmetry(moved)
    if ladder is not None:
        rungs = ladder_rows(ladder)
        gap = over_seeds(per_seed(climbed(ladder)["gap"]))
        drawn.append(_ladder(rungs, gap))
        tables["ladder"] = _rungs(rungs, gap)
        words["ends"] = tuple(size(one) for one in ladder_ends(ladder))
        if "resid_pre" in moved:
            words["streams"] = size(streams_against_ladder(moved["resid_pre"], ladder))
    if course is not None:
        rows = mechanism_rows(course)
        drawn.append(_course(rows))
        tables["mechanism"] = _mechanism(rows)
        words["later"] = [_later(rows, measure) for measure in MEASURES]
    return Chapter("crossing", "A map of the asymmetry", "Asymmetry", tables, drawn, words)


def _map(kind: str, found: xr.Dataset, first: int) -> Figure:
    heads = "head" in found.dims
    one = found.sel(seed=first, drop=True).mean("order", keep_attrs=True) if heads else found
    cells_ = crossing_table(one)
    whose = f"seed {first}, whose heads have numbers of their own" if heads else "the mean over seeds"
    return both(
        f"crossing-{kind}",
        lambda stacked: crossing_map(cells_["estimate"].assign_attrs(cells_.attrs), stacked),
        f"What moves of the gap, in logits, when {SITES[kind]} at the positions of a role, or everywhere, comes from"
        " the"
        f" other history; {whose}. Sufficient: how far from below’s content, moved into from above, brings the gap with"
        " it. Necessary: how much of it goes when from below gets from above’s instead. The asymmetry, their difference"
        " on its own scale, would be 0 if all that follows the cell were linear and alike in both histories.",
    )


def _asymmetry(moved: dict[str, xr.Dataset]) -> str:
    """How many cells of the maps over seeds have an asymmetry whose interval leaves out 0."""
    parts = []
    for kind, found in moved.items():
        if "head" in found.dims:
            continue
        one = crossing_table(found).sel(effect="asymmetry")
        known = one["low"].notnull()
        sure = int(((one["low"] > 0) | (one["high"] < 0)).sum())
        parts.append(f"{sure} of {int(known.sum())} cells of {SITES[kind]}")
    return listed(parts)


def _ladder(rows: list[Row], gap: Estimate) -> Figure:
    arrays, mark = ladder_arrays(rows), as_arrays([gap], "cell").isel(cell=0)
    return both(
        "ladder",
        lambda stacked: ladder_steps(arrays, mark, stacked),
        "A rung’s network computes the donor’s stream up to it and goes on with the receiver’s weights. The first rung"
        " is the receiver, the last the donor, so the rungs add up to the gap and say at what depth it enters; both"
        f" directions are climbed, black is their mean. Intervals: {method(gap)}.",
    )


def _rungs(rows: list[Row], gap: Estimate) -> Table:
    lines = []
    for row in rows:
        share = row["added_share"]
        names = ("moved", "added", "added_into_below", "added_into_above")
        lines.append(
            cells(
                Cell(str(row["rung"]), kind="lead"),
                *(estimate(row[name]) for name in names),
                estimate(share),
            )
        )
    head = ("donor’s up to", "moved so far", "added", "added, from above into below", "added, from below into above")
    note = (
        f"In logits. Gap: {estimate(gap)}. Intervals: {method(gap)}; shares: ratios of means with Fieller’s interval."
    )
    why = blanks(row["added_share"] for row in rows)
    return Table("The ladder of prefixes", (*head, "share of the gap"), lines, (note, *why))


def _course(rows: list[Row]) -> Figure:
    arrays = mechanism_arrays(rows)
    return both(
        "mechanism",
        lambda stacked: mechanism_course(arrays, stacked=stacked),
        "The behaviour’s difference (the gap) and the mechanisms’ (what moving the heads’, the MLPs’, or both outputs"
        " at"
        " the query between the histories moves), in logits at every measured position of the hold, and as shares of"
        " their own values at arrival. Means can cancel while nothing is alike; root mean squares over trials cannot."
        f" Intervals: {method(rows[0]['behaviour'])}.",
    )


def _mechanism(rows: list[Row]) -> Table:
    lines = [
        cells(
            Cell(str(row["mechanism"]), kind="lead"),
            MEASURES[str(row["measure"])],
            str(row["position"]),
            *(estimate(row[name]) for name in ("behaviour", "moved", "behaviour_left", "moved_left", "difference")),
            str(row["verdict"]),
        )
        for row in rows
        if not str(row["mechanism"]).startswith("resid") and row["verdict"] != "arrival"
    ]
    head = (
        "mechanism",
        "measure",
        "position",
        "behaviour, logits",
        "mechanism, logits",
        "behaviour left",
        "mechanism left",
    )
    note = (
        "Left: the ratio to the own value at arrival. Later (earlier): the interval of the difference of what both have"
        f" left in size lies above (below) 0; together: it holds 0 and lies within ±{TOGETHER:g}; else undetermined."
    )
    return Table(
        "Does the mechanism relax later than the behaviour?", (*head, "difference of sizes", "verdict"), lines, (note,)
    )


def _later(rows: list[Row], measure: str) -> str:
    """Verdicts of one measure over mechanisms and positions, counted."""
    words = [
        str(row["verdict"])
        for row in rows
        if row["measure"] == measure and row["verdict"] != "arrival" and not str(row["mechanism"]).startswith("resid")
    ]
    kinds = ("later", "earlier", "together", UNDETERMINED)
    told = listed([f"{words.count(kind)} {kind}" for kind in kinds if kind in words])
    return f"by {MEASURES[measure]}, of {len(words)} comparisons: {told}" if words else ""
