"""The asymmetry of histories: places moved from one into the other, swapped layers, and what relaxes later."""

import xarray as xr

from hyst_interp.analysis.exchange import whole_gap
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import cell, records
from hyst_interp.plots.heatmap import SITES
from hyst_interp.questions.crossing.controls import streams_against_swap, swap_ends
from hyst_interp.questions.crossing.figure import crossing_map, layer_swap_steps
from hyst_interp.questions.crossing.measure import KINDS
from hyst_interp.questions.crossing.over_time_figure import over_time_course
from hyst_interp.questions.crossing.over_time_summary import TOGETHER, over_time_table
from hyst_interp.questions.crossing.summary import crossing_table, layer_swap_table
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import blanks, estimate, listed, method, size
from hyst_interp.sites import JOINT_SETS
from hyst_interp.statistics import Estimate
from hyst_interp.verdicts import RELAXATIONS, Verdict

MEASURES = {"mean": "means over trials", "rms": "root mean squares over trials"}


def chapter(source: RunResults) -> Chapter | None:
    """Left out where nothing was moved between the histories."""
    results, first = source.results, source.study.seeds[0]
    patched = {kind: results[f"crossing-{kind}"] for kind in KINDS if f"crossing-{kind}" in results}
    swapped, followed = results.get("ladder"), results.get("mechanism")
    if not patched and swapped is None and followed is None:
        return None
    maps = {kind: crossing_table(_drawn(cells, first)) for kind, cells in patched.items()}
    drawn = [_map(kind, table, first) for kind, table in maps.items()]
    tables, words = (
        {},
        {"maps": [figure.name for figure in drawn], "first": first, "ends": None, "streams": None, "later": None},
    )
    words["asymmetry"] = _asymmetry(maps)
    if swapped is not None:
        table, gap = layer_swap_table(swapped), whole_gap(swapped)
        drawn.append(_layer_swap(table, gap))
        tables["ladder"] = _depths(records(table), cell(gap))
        words["ends"] = tuple(size(error) for error in swap_ends(swapped))
        if "resid_pre" in patched:
            words["streams"] = size(streams_against_swap(patched["resid_pre"], swapped))
    if followed is not None:
        table = over_time_table(followed)
        rows = records(table)
        drawn.append(_over_time(table, rows))
        tables["mechanism"] = _comparisons(rows)
        words["later"] = [_later(rows, measure) for measure in MEASURES]
    return Chapter("crossing", "A map of the asymmetry", "Asymmetry", tables, drawn, words)


def _drawn(patched: xr.Dataset, first: int) -> xr.Dataset:
    """What a map is of: all seeds, or where heads have numbers of their own the first alone."""
    return patched.sel(seed=first, drop=True).mean("order", keep_attrs=True) if "head" in patched.dims else patched


def _map(kind: str, table: xr.Dataset, first: int) -> Figure:
    heads = "head" in table.dims
    whose = f"seed {first}, whose heads have numbers of their own" if heads else "the mean over seeds"
    return both(
        f"crossing-{kind}",
        lambda stacked: crossing_map(table, stacked),
        f"What moves of the gap, in logits, when {SITES[kind]} at the positions of a role, or everywhere, comes from"
        f" the other history; {whose}. Sufficient: how far from below’s content, moved into from above, brings the gap"
        " with it. Necessary: how much of it goes when from below gets from above’s instead. The asymmetry, their"
        " difference on its own scale, would be 0 if all that follows were linear and alike in both histories.",
    )


def _asymmetry(maps: dict[str, xr.Dataset]) -> str:
    """How many cells of the maps over seeds have an asymmetry whose interval leaves out 0."""
    parts = []
    for kind, table in maps.items():
        if "head" in table.dims:
            continue
        asymmetry = table.sel(effect="asymmetry")
        known = asymmetry["low"].notnull()
        sure = int(((asymmetry["low"] > 0) | (asymmetry["high"] < 0)).sum())
        parts.append(f"{sure} of {int(known.sum())} cells of {SITES[kind]}")
    return listed(parts)


def _layer_swap(table: xr.Dataset, gap: xr.Dataset) -> Figure:
    return both(
        "ladder",
        lambda stacked: layer_swap_steps(table, gap, stacked),
        "A depth’s network computes the donor’s stream up to it and goes on with the receiver’s weights. The first is"
        " the receiver, the last the donor, so the depths add up to the gap and say where it enters; layers are swapped"
        f" in both directions, black is their mean. Intervals: {method(cell(gap))}.",
    )


def _depths(rows: list[Row], gap: Estimate) -> Table:
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
    return Table("The layer swap", (*head, "share of the gap"), lines, (note, *why))


def _over_time(table: xr.Dataset, rows: list[Row]) -> Figure:
    return both(
        "mechanism",
        lambda stacked: over_time_course(table, stacked=stacked),
        "The behaviour’s difference (the gap) and the mechanisms’ (what moving the heads’, the MLPs’, or both outputs"
        " at the query between the histories moves), in logits at every measured position of the hold, and as shares of"
        " their own values at arrival. Means can cancel while nothing is alike; root mean squares over trials cannot."
        f" Intervals: {method(rows[0]['behaviour'])}.",
    )


def _comparisons(rows: list[Row]) -> Table:
    lines = [
        cells(
            Cell(str(row["mechanism"]), kind="lead"),
            MEASURES[str(row["measure"])],
            str(row["position"]),
            *(estimate(row[name]) for name in ("behaviour", "moved", "behaviour_left", "moved_left", "difference")),
            str(row["verdict"]),
        )
        for row in rows
        if row["mechanism"] in JOINT_SETS and row["verdict"] != Verdict.ARRIVAL
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
        if row["measure"] == measure and row["verdict"] != Verdict.ARRIVAL and row["mechanism"] in JOINT_SETS
    ]
    told = listed([f"{words.count(kind)} {kind}" for kind in RELAXATIONS if kind in words])
    return f"by {MEASURES[measure]}, of {len(words)} comparisons: {told}" if words else ""
