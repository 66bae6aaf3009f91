"""Optimizer or weights: both held at p0 with exchanged optimizer states."""

import xarray as xr

from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import cell
from hyst_interp.questions.transplant import of_run
from hyst_interp.questions.transplant.answer import larger_part
from hyst_interp.questions.transplant.controls import cells_at_no_updates, own_against_run, parts_against_gap
from hyst_interp.questions.transplant.figure import transplant_course
from hyst_interp.questions.transplant.summary import SHARES, curves
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import estimate, method, reason, size

MOMENTS = ("moments: first moment", "moments: second moment")
SHARED = {
    "shared: below's": "from below’s in both",
    "shared: above's": "from above’s in both",
    "shared: anchor": "the anchor’s in both",
    "shared: reset": "reset (age 0) in both",
    "shared: zeroed": "zeroed (age kept) in both",
}


def chapter(source: RunResults) -> Chapter | None:
    """Left out where no optimizer state was transplanted."""
    transplanted, table = source.results.get("transplant"), source.once(of_run.table)
    if transplanted is None or table is None:
        return None
    rows = source.once(of_run.transplanted)
    tables = {"transplant": _parts(rows), "shared": _shared(rows)}
    run = own_against_run(transplanted, source.results["trajectory"])
    words = {
        "start": size(cells_at_no_updates(transplanted)),
        "sum": size(parts_against_gap(transplanted)),
        "run": None if run is None else size(run[0]),
        "holds": None if run is None else run[1],
        "moments": str(transplanted.attrs.get("moments", "none")),
    }
    title = "Optimizer or weights"
    return Chapter("transplant", title, "Optimizer or weights", tables, [_figure(transplanted, table)], words)


def _figure(transplanted: xr.Dataset, table: xr.Dataset) -> Figure:
    lines, gap = curves(transplanted), cell(table.isel(update=0), quantity="gap")
    return both(
        "transplant",
        lambda stacked: transplant_course(lines, table, stacked),
        "Both histories held at p0 on the same batches, each with its own or with another optimizer state. The gap is"
        " the sum of what the weights and what the optimizer states carry, each averaged over both ways of exchanging"
        " the other; at 0 updates an optimizer has done nothing, so there all is weights. In the middle the"
        " optimizer’s part by moment; on the right the gap that is left when both get the very same state. Thin"
        f" lines: the gap of every seed. Bands: {method(gap)}.",
    )


def _parts(rows: list[Row]) -> Table:
    lines = []
    for row in rows:
        share = row["weights_share"]
        names = ("gap", "weights", "optimizer", "interaction", *MOMENTS)
        verdict = larger_part(share)
        lines.append(
            [
                Cell(str(row["updates"]), kind="lead"),
                *(Cell(estimate(row[name])) for name in names),
                *(Cell(estimate(row[f"{name}_share"])) for name in SHARES),
                Cell("by construction" if row["updates"] == 0 else verdict, kind="small"),
            ]
        )
    head = ("updates", "gap", "weights", "optimizer", "interaction", "first moment", "second moment")
    head = (*head, "weights, share", "optimizer, share", "larger part")
    note = (
        f"In logits; intervals: {method(rows[0]['gap'])}; shares of the gap: ratios of means with Fieller’s"
        " interval, unclipped. Weights and optimizer add up to the gap, the two moments to the optimizer. The larger"
        " part is named where the weights’ share lies wholly on one side of one half."
    )
    blanks = {row["updates"]: share for row in rows if (share := row["weights_share"]).estimate is None}
    why = [f"Undefined after {updates} updates: {reason(share)}." for updates, share in blanks.items()]
    return Table("The gap after a transplant, divided", head, lines, (note, *why))


def _shared(rows: list[Row]) -> Table:
    lines = [
        cells(
            Cell(str(row["updates"]), kind="lead"),
            *(estimate(row[name]) for name in ("gap", *SHARED)),
        )
        for row in rows
    ]
    note = (
        "In logits, intervals as above. Emptied moments of age 0 make first steps of the full learning rate whatever"
        " the gradient; emptied moments of full age make longer ones. Neither is how the network was trained; the"
        " anchor’s state is one that it had."
    )
    return Table(
        "What the weights carry alone: the gap under one and the same optimizer state",
        ("updates", "each its own", *SHARED.values()),
        lines,
        (note,),
    )
