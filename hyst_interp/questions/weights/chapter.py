"""Which weights: groups of parameters moved between the histories, one at a time and all but one."""

from hyst_interp.analysis.exchange import exchanged
from hyst_interp.analysis.replicates import as_arrays, over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.questions.weights import of_run as weights_of_run
from hyst_interp.questions.weights.controls import all_weights_moved
from hyst_interp.questions.weights.figure import weight_move_dots
from hyst_interp.questions.weights.measure import SUMS, row_arrays
from hyst_interp.report.answers import carriers
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import blanks, estimate, listed, method, size
from hyst_interp.statistics import Estimate


def chapter(source: RunResults) -> Chapter | None:
    """Left out where no weights were moved."""
    found = source.results.get("weights")
    if found is None:
        return None
    gap = over_seeds(per_seed(exchanged(found)["gap"]))
    tables = {
        "families": _table(source.once(weights_of_run.moves), "family", gap),
        "groups": _table(source.once(weights_of_run.moves), "group", gap),
    }
    kinds = [row for row in source.once(weights_of_run.moves) if row["level"] == "family" and row["family"] != "sum"]
    there = carriers([(str(row["group"]), row["logits_moved"]) for row in kinds], gap)
    words = {
        "all": size(all_weights_moved(found)),
        "carriers": listed([f"{name} ({estimate(one)})" for name, one in there]),
        "gap": gap,
    }
    return Chapter(
        "weights", "Which weights", "Which weights", tables, [_figure(source.once(weights_of_run.moves), gap)], words
    )


def _figure(rows: list[Row], gap: Estimate) -> Figure:
    moved, mark = row_arrays(rows), as_arrays([gap], "cell").isel(cell=0)
    return both(
        "weights",
        lambda stacked: weight_move_dots(moved, mark, stacked),
        "Logits of the gap that move when a group of weights comes from the other history, and when all but that group"
        " do. A diamond is the mean of both directions with its interval, dots are the directions. The panels mirror"
        " each other about the gap (dashed, its interval shaded), directions exchanged: a group alone in one history is"
        f" the last to go into the other. Intervals: {method(gap)}.",
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
