"""What carries the gap: logits moved by replacing components, by every reference, alone and together."""

from hyst_interp.questions.attenuation import of_run as attenuation_of_run
from hyst_interp.questions.attenuation.figure import logits_moved_forest
from hyst_interp.questions.attenuation.of_run import Replaced
from hyst_interp.references import exchanges
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import estimate, method, number, reason
from hyst_interp.statistics import Estimate


def chapter(source: RunResults) -> Chapter | None:
    """Left out where nothing was replaced on arrival."""
    replaced = source.once(attenuation_of_run.replaced)
    if 0 not in replaced:
        return None
    tables = {
        "replacements": _replacements(replaced[0]),
        "donors": _donors(replaced[0]),
        "later": _later(replaced),
    }
    return Chapter("attenuation", "What carries the gap", "Attenuation", tables, [_forest(replaced[0])])


def _forest(arrival: Replaced) -> Figure:
    gap = arrival.gap
    return both(
        "attenuation",
        lambda stacked: logits_moved_forest(arrival.table, gap, stacked),
        "Logits moved on arrival when the output of components at the query is replaced in both networks, by"
        f" reference; circles are single components, diamonds joint sets. The dashed line is the gap, {estimate(gap)}"
        " logits, with its interval shaded: a set whose point lies on the line carries the whole gap. The share is"
        f" undefined where the gap’s interval contains 0. Intervals: {method(gap)}.",
    )


def _replacements(arrival: Replaced) -> Table:
    notes: list[str] = []
    rows = [
        cells(
            Cell(str(row["components"]), kind="lead"),
            str(row["reference"]),
            estimate(row["logits_moved"]),
            estimate(row["gap_after"]),
            _share(row["attenuation"], notes),
            estimate(row["answer_mass"]),
            f"{number(row['margin_after_below'].estimate)} / {number(row['margin_after_above'].estimate)}",
        )
        for row in arrival.rows
    ]
    head = ("components", "reference", "logits moved", "gap after", "share of the gap", "answer mass after")
    words = (
        f"Gap on these trials: {estimate(arrival.gap)} logits. Intervals: {method(arrival.gap)}; shares: ratio of means"
        " with Fieller’s interval, unclipped. Answer mass is P(c) + P(f): far below 1, or a margin far from 0, means"
        " that the replacement took the network far from where it was trained.",
    )
    head = (*head, "margin after, below / above")
    return Table("Every replacement on arrival", head, rows, (*words, *notes))


def _donors(arrival: Replaced) -> Table:
    rows = [
        cells(
            Cell(str(row["components"]), kind="lead"),
            *(estimate(row[name]) for name in ("into_below", "into_above", "interaction")),
        )
        for row in arrival.rows
        if row["reference"] in exchanges()
    ]
    head = ("components", "from above into below", "from below into above", "interaction")
    note = "In logits. The headline is the mean of the two directions; the interaction is half their difference."
    return Table("Donors in both directions", head, rows, (note,))


def _later(replaced: dict[int, Replaced]) -> Table:
    notes: list[str] = []
    sets = [{(row["components"], row["reference"]) for row in at_hold.rows} for at_hold in replaced.values()]
    common = set.intersection(*sets)
    rows = [
        cells(
            Cell(f"hold {hold}", kind="lead"),
            str(row["components"]),
            str(row["reference"]),
            estimate(at_hold.gap),
            estimate(row["logits_moved"]),
            _share(row["attenuation"], notes),
        )
        for hold, at_hold in replaced.items()
        for row in at_hold.rows
        if (row["components"], row["reference"]) in common
    ]
    head = ("", "components", "reference", "gap", "logits moved", "share of the gap")
    return Table("The same sets at every hold", head, rows, ("In logits, intervals as above.", *notes))


def _share(share: Estimate, notes: list[str]) -> Cell:
    """A share, or `undefined` with a reference to its reason among the notes."""
    if share.estimate is not None:
        return Cell(estimate(share))
    text = f"Undefined: {reason(share)}."
    if not any(note.endswith(text) for note in notes):
        notes.append(f"{'*' * (len(notes) + 1)} {text}")
    mark = next(note for note in notes if note.endswith(text)).partition(" ")[0]
    return Cell(f"undefined{mark}", kind="faint")
