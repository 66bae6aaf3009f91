"""Mean or information: what a component carries on every input alike, and what with the input; whom to trust."""

import xarray as xr

from hyst_interp.analysis.agreement import compared
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import cell, records
from hyst_interp.questions.information import of_run as information_of_run
from hyst_interp.questions.information.figure import information_dots
from hyst_interp.questions.information.summary import (
    DIVERGENCE,
    ESTIMATORS,
    MASS_KEPT,
    TOLERANCE,
    by_replacement,
    estimator_rows,
)
from hyst_interp.report.answers import UNDETERMINED
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import blanks, estimate, listed, method, number, text
from hyst_interp.verdicts import Verdict

RULE = (
    f"An estimator is trusted for a component if, with the whole interval, (1) every replacement that it uses keeps"
    f" {MASS_KEPT:.0%} of the answer mass and (2) stays within {DIVERGENCE:g} nats of where the network was, in both"
    f" histories; (3) the remainder is within {TOLERANCE:.0%} of the gap, and (4), for “parts moved”, half the"
    " difference"
    " of the directions too. Where the gap may be 0 nothing is trusted."
).replace("%", " %")


def chapter(source: RunResults) -> Chapter | None:
    """Left out where components were not taken apart."""
    parts = source.once(information_of_run.information)
    if parts is None:
        return None
    distances = by_replacement(source.results["information"])
    rows = estimator_rows(parts)
    tables = {"trust": _trust(rows), "parts": _parts(rows), "distances": _distances(records(distances))}
    trusted = {
        name: [row for row in rows if row["estimator"] == name and row["verdict"] == Verdict.TRUSTED]
        for name in _names(rows)
    }
    words = {
        "tally": "; ".join(
            f"{name}: {listed([str(row['components']) for row in some]) if some else 'none'}"
            for name, some in trusted.items()
        ),
        "remainder": _remainder(rows),
        "agree": _agreement(rows),
    }
    title = "Mean or information, and which estimator to trust"
    return Chapter("information", title, "Mean or information", tables, [_figure(parts, distances)], words)


def _names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["estimator"]) for row in rows))


def _figure(parts: xr.Dataset, distances: xr.Dataset) -> Figure:
    first = parts.isel(estimator=0, components=0)
    return both(
        "information",
        lambda stacked: information_dots(parts, distances, str(first["estimator"].values), stacked),
        "First, what moves of the gap when a component’s whole output, its mean alone, or its input-dependent part"
        " alone"
        " comes from the other history; the remainder is what the two parts leave of the whole, 0 in a linear network."
        " Second, how far every replacement takes the networks from where they were; dashed the bound beyond which"
        " nothing is trusted. Third, the verdict on every estimator. Intervals:"
        f" {method(cell(first, quantity='whole'))}.",
    )


def _trust(rows: list[Row]) -> Table:
    names = _names(rows)
    lines = []
    for component in dict.fromkeys(str(row["components"]) for row in rows):
        judged = {row["estimator"]: row for row in rows if row["components"] == component}
        lines.append(
            [
                Cell(component, kind="lead"),
                *(Cell(judged[name]["verdict"], text(judged[name]["reason"]), "small") for name in names),
            ]
        )
    return Table(
        "Which estimator can be trusted here, and why not", ("components", *names), lines, (RULE,), "cards even"
    )


def _parts(rows: list[Row]) -> Table:
    lines = []
    for row in rows:
        names = ("whole", "mean", "information", "remainder")
        shares = [row[f"{name}_share"] for name in names[1:]]
        lines.append(
            cells(
                Cell(str(row["components"]), kind="lead"),
                str(row["estimator"]),
                *(estimate(row[name]) for name in names),
                *(estimate(share) for share in shares[:2]),
                Cell(str(row["verdict"]), kind="" if row["verdict"] == Verdict.TRUSTED else "faint"),
            )
        )
    why = blanks(row["mean_share"] for row in rows)
    head = (
        "components",
        "estimator",
        "whole",
        "mean",
        "information",
        "remainder",
        "mean, share",
        "information, share",
        "",
    )
    note = (
        f"In logits; intervals: {method(rows[0]['whole'])}; shares: ratios of means with Fieller’s"
        " interval. All estimators would agree in a linear network:"
        f" {'; '.join(f'{name} from {listed(list(ESTIMATORS[name]))}' for name in _names(rows))}."
    )
    return Table("Mean and input-dependent part by every estimator", head, lines, (note, *why))


def _distances(far: list[Row]) -> Table:
    lines = [
        cells(
            Cell(str(row["components"]), kind="lead"),
            str(row["replacement"]),
            *(estimate(row[name]) for name in ("answer_mass", "divergence", "divergence_ratio", "stream_change")),
            f"{number(row['margin_after_below'].estimate)} / {number(row['margin_after_above'].estimate)}",
        )
        for row in far
    ]
    head = ("components", "replaced by", "answer mass after", "KL from before, nats", "KL in KLs between histories")
    head = (*head, "change of the stream, share", "margin after, below / above")
    note = (
        "Means over both histories. The histories’ own distance is the yardstick: 1 is as far as the other history is."
    )
    return Table("How far every replacement leads", head, lines, (note,))


def _remainder(rows: list[Row]) -> str:
    """The remainder of the joint set that holds most, by the first estimator."""
    first = [row for row in rows if row["estimator"] == _names(rows)[0]]
    last = first[-1]
    return f"{last['components']}: {estimate(last['remainder'])} of {estimate(last['whole'])} logits"


def _agreement(rows: list[Row]) -> str:
    """Whether trusted estimators of one component say the same of its two parts."""
    counts: dict[str, int] = {}
    for component in dict.fromkeys(row["components"] for row in rows):
        trusted = [row for row in rows if row["components"] == component and row["verdict"] == Verdict.TRUSTED]
        for other in trusted[1:]:
            for part in ("mean", "information"):
                word = compared(trusted[0][part], other[part])
                counts[word] = counts.get(word, 0) + 1
    if not counts:
        return f"No component has two trusted estimators, so whether they agree is {UNDETERMINED}."
    told = listed([f"{count} {word}" for word, count in counts.items()])
    times = sum(counts.values())
    return f"Where a component has several trusted estimators, their parts were compared {times} times: {told}."
