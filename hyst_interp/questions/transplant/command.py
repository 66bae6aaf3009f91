"""`transplant`: did the weights carry the gap of a run, or the optimizer's state?"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyst_interp.cli.arguments import Figure, Format, RunDirectory, figure_file, finished_run
from hyst_interp.cli.output import Answer, check_format
from hyst_interp.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr

    from hyst_interp.config import StudyConfig

TABLES = (
    {"gap": "gap", "weights": "weights", "optimizer": "optimizer"},
    {
        "interaction": "weights × optimizer",
        "moments: first moment": "first moment",
        "moments: second moment": "second moment",
    },
    {"shared: anchor": "the anchor's", "shared: reset": "reset", "shared: zeroed": "zeroed"},
)
"""Tables of the answer: quantity → its title."""
HEADINGS = (
    "The gap at p0 after exchanging optimizer states: weights + optimizer = gap",
    "What they do together, and the optimizer's part by moments",
    "The gap when both histories have the same optimizer state",
)


def transplant(
    run: RunDirectory,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="0-4", help="Some of the run's seeds: 0-4, 3, or 0-2,7.")
    ] = None,
    figure: Figure = None,
    format: Format = "table",
) -> Answer:
    """Say whether weights or optimizer state carried the gap of a run, after every number of updates at p0.

    On arrival each history's weights are given other optimizer states (the other history's, single moments, the
    anchor's, none) and held at p0 on the same batches. A run has this where its checkpoints keep optimizer state
    (save_optimizer in its study). Intervals are over seeds.

    \b
    Example:
      hyst-interp transplant runs/paper
    """
    check_format(format)
    file = None if figure is None else figure_file(figure)
    finished, study = finished_run(run, ())
    _refuse_without(run, study)
    finished_run(run, ("transplant",))
    chosen = _seeds(run, study, seeds)

    from hyst_interp.storage.results import read_results

    data = _data(read_results(finished.results / "transplant.nc").sel(seed=list(chosen)), run, chosen, file)
    rows = data["rows"]
    return Answer(data, rows, lambda colour: _table(data, colour), format)


def _refuse_without(run: str, study: "StudyConfig") -> None:
    """A study that can have no transplant, with the remedy."""
    if "hold-000" not in study.save_optimizer:
        raise UserError(
            f"run '{run}' keeps no optimizer state on arrival, and a transplant needs checkpoints with optimizer state;"
            " put hold-000 into save_optimizer in its study and reproduce that in another directory."
        )
    if study.localization.orders == 0:
        raise UserError(
            f"run '{run}' has no transplant (localization.orders is 0 in its study); raise it and reproduce that in"
            " another directory."
        )


def _seeds(run: str, study: "StudyConfig", text: str | None) -> tuple[int, ...]:
    if text is None:
        return study.seeds
    from hyst_interp.config.study import parse_seeds

    chosen = parse_seeds(text)
    missing = [seed for seed in chosen if seed not in study.seeds]
    if missing:
        raise UserError(f"run '{run}' has no seed {missing[0]}; use some of {', '.join(map(str, study.seeds))}.")
    return chosen


def _data(transplanted: "xr.Dataset", run: str, seeds: tuple[int, ...], file: "Path | None") -> dict[str, Any]:
    from hyst_interp.cli.output import schema
    from hyst_interp.cli.rows import plain
    from hyst_interp.questions.transplant.controls import cells_at_no_updates
    from hyst_interp.questions.transplant.summary import transplant_rows, transplant_table

    table = transplant_table(transplanted)
    data: dict[str, Any] = {
        "schema": schema("transplant"),
        "run": run,
        "seeds": list(seeds),
        "orders": transplanted.sizes["order"],
        "trials": transplanted.sizes["trial"],
        "moments": str(transplanted.attrs["moments"]),
        "control": {
            "what": "margins of all cells at 0 updates − those of the untouched run",
            "largest": cells_at_no_updates(transplanted),
            "unit": "logits",
        },
        "cells": _cells(transplanted),
        "rows": [plain(row) for row in transplant_rows(table)],
    }
    if file is not None:
        from hyst_interp.plots.write import write_figure
        from hyst_interp.questions.transplant.methods import of_transplant

        write_figure(of_transplant(transplanted, table), file)
        data["wrote"] = [str(file)]
    return data


def _cells(transplanted: "xr.Dataset") -> list[dict[str, Any]]:
    """Every optimizer state in words, and how many updates its moments count as having taken, a number a seed."""
    ages = transplanted["step"]
    if "order" in ages.dims:
        ages = ages.isel(order=0)
    return [
        {
            "optimizer": str(cell),
            "what": str(transplanted["what"].sel(optimizer=cell).values),
            "step": {
                str(side): [int(age) for age in ages.sel(optimizer=cell, weights=side).values.ravel()]
                for side in transplanted["weights"].values
            },
        }
        for cell in transplanted["optimizer"].values
    ]


def _table(data: dict[str, Any], colour: bool) -> str:
    import textwrap

    from hyst_interp.cli.rows import exactly, written
    from hyst_interp.cli.tables import estimate_text, layout, paragraph

    rows, seeds = data["rows"], len(data["seeds"])
    level = f"{rows[0]['gap']['level']:.0%} over {seeds} seeds" if seeds > 1 else "one seed: none"
    orders = f"{data['orders']} data order{'s' if data['orders'] > 1 else ''}"
    lines = [
        paragraph(f"{data['run']}: {seeds} seed{'s' if seeds > 1 else ''}, {orders}, {data['trials']:,} trials"),
        paragraph(f"In logits; intervals: {level}. The optimizer keeps: {data['moments']}."),
    ]
    for heading, columns in zip(HEADINGS, TABLES, strict=True):
        body = [[str(row["updates"]), *(estimate_text(row[name]) for name in columns)] for row in rows]
        lines += ["", heading, layout(["after", *columns.values()], body, "rlll", colour)]
    body = [
        [cell["optimizer"], "\n".join(textwrap.wrap(cell["what"], 48)), _ages(cell["step"])] for cell in data["cells"]
    ]
    lines += ["", layout(["optimizer state", "what stands beside the weights", "its updates"], body, "lll", colour), ""]
    foot = [
        f"Control: without an update moments answer nothing; at 0 updates the largest difference of a margin from the"
        f" untouched run is {exactly(data['control']['largest'])}.",
        "after: updates at p0 since the exchange. reset: no moments, age 0. zeroed: moments 0 at full age.",
    ]
    return "\n".join([*lines, *(paragraph(line, hang="  ") for line in foot), *written(data)])


def _ages(steps: dict[str, list[int]]) -> str:
    """`2,760`, or `2,510–3,060` where seeds differ."""
    ages = [age for side in steps.values() for age in side]
    return f"{min(ages):,}" if min(ages) == max(ages) else f"{min(ages):,}–{max(ages):,}"
