"""Which weights: groups of parameters moved between the histories, one at a time and all but one."""

import xarray as xr

from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import cell
from hyst_interp.questions.weights import of_run
from hyst_interp.questions.weights.controls import all_weights_moved
from hyst_interp.questions.weights.figure import weight_move_dots
from hyst_interp.questions.weights.summary import SUMS
from hyst_interp.report.answers import carriers
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import blanks, estimate, listed, method, size
from hyst_interp.statistics import Estimate


def chapter(source: RunResults) -> Chapter | None:
    """Left out where no weights were moved."""
    table = source.once(of_run.table)
    if table is None:
        return None
    rows, gap = source.once(of_run.moves), cell(source.once(of_run.gap))
    tables = {"families": _table(rows, "family", gap), "groups": _table(rows, "group", gap)}
    kinds = [row for row in rows if row["level"] == "family" and row["family"] != "sum"]
    there = carriers([(str(row["group"]), row["logits_moved"]) for row in kinds], gap)
    words = {
        "all": size(all_weights_moved(source.results["weights"])),
        "carriers": listed([f"{name} ({estimate(moved)})" for name, moved in there]),
        "gap": gap,
    }
    figure = _figure(table, source.once(of_run.gap))
    return Chapter("weights", "Which weights", "Which weights", tables, [figure], words)


def _figure(table: xr.Dataset, gap: xr.Dataset) -> Figure:
    return both(
        "weights",
        lambda stacked: weight_move_dots(table, gap, stacked),
        "Logits of the gap that move when a group of weights comes from the other history, and when all but that group"
        " do. A diamond is the mean of both directions with its interval, dots are the directions. The panels mirror"
        " each other about the gap (dashed, its interval shaded), directions exchanged: a group alone in one history is"
        f" the last to go into the other. Intervals: {method(cell(gap))}.",
    )


def _table(rows: list[Row], level: str, gap: Estimate) -> Table:
    lines = []
    for row in (row for row in rows if row["level"] == level):
        share, total = row["share"], row["group"] in SUMS
        rest = "–" if total else estimate(row["all_but_moved"])
        lines.append(
            cells(
                Cell(str(row["group"]), kind="lead"),
                Cell(estimate(row["logits_moved"])),
                estimate(share),
                *(estimate(row[name]) for name in ("into_below", "into_above", "interaction")),
                rest,
            )
        )
    head = ("weights", "logits moved", "share of the gap", "from above into below", "from below into above")
    head = (*head, "interaction", "moved by all but it")
    words = "kinds of weights" if level == "family" else "every group"
    note = (
        f"Gap: {estimate(gap)} logits. Intervals: {method(gap)}; shares: ratios of means with Fieller’s interval. The"
        " sum of the groups need not be the gap: what it leaves is their interaction. Heads of different seeds have no"
        " common numbering: a head’s row is the mean over whatever head has that number."
    )
    notes = (note, *blanks(row["share"] for row in rows)) if level == "family" else ()
    return Table(f"Weights moved between the histories: {words}", head, lines, notes)
