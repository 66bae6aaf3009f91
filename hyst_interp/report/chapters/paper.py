"""The paper's results beside the run: all its seeds, and the paper's number of them where the run has more."""

from hyst_interp.claims import Row
from hyst_interp.report.blocks import Cell, Chapter, Table, cells
from hyst_interp.report.judged import apart, judged, tally, verdict_class, verdict_word
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.verdict import RULE, verdict
from hyst_interp.report.wording import estimate, method, reason


def chapter(source: RunResults) -> Chapter:
    """Always there: a run has claims."""
    made = verdict(source)
    words = {"reasons": made.reasons, "rule": RULE, "tally": tally(source.once(judged))}
    return Chapter("paper", "The paper and this run", "Paper and run", {"verdicts": _table(source)}, words=words)


def _table(source: RunResults) -> Table:
    fewer = source.once(apart)
    by_key = {row.key: row for row in fewer.rows} if fewer else {}
    head = ["quantity", "paper", "this run", "verdict"]
    if fewer is not None:
        head[2:] = [f"all {len(source.study.seeds)} seeds", "verdict", f"seeds {_span(fewer.seeds)}", "verdict"]
    rows = []
    for row in source.once(judged):
        row_cells = [Cell(row.quantity, kind="lead"), Cell(row.paper), *_found(row)]
        if fewer is not None:
            row_cells += _found(by_key[row.key]) if row.key in by_key else cells("–", "–")
        rows.append([*row_cells, Cell(row.rule, kind="small rule")])
    notes = [
        "Calibrated: the choice of the preset fixed this row or made it likely, so its agreement is no evidence."
        " Free: it was not looked at when the preset was chosen. The rules were fixed before any reporting run."
    ]
    if fewer is not None:
        notes.append(
            f"The second pair of columns reads the same rules on the first {len(fewer.seeds)} seeds,"
            " apart to match the paper’s number. They are among those of the first pair: the two are no independent"
            " looks."
        )
    wide = " wide" if fewer is not None else ""
    return Table("The paper’s results beside this run", (*head, "rule"), rows, tuple(notes), f"cards{wide}")


def _found(row: Row) -> list[Cell]:
    small = [f"{row.estimate.unit}; {method(row.estimate)}"] if row.estimate.n else []
    small += [reason(row.estimate)] if row.estimate.reason else []
    status = "calibrated" if row.calibrated else "free"
    return [
        Cell(estimate(row.estimate, 4), "; ".join(small)),
        Cell(verdict_word(row.verdict), status, f"verdict {verdict_class(row.verdict)}"),
    ]


def _span(seeds: tuple[int, ...]) -> str:
    """`0–4` where the seeds are consecutive, else listed."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}–{seeds[-1]}"
    return ", ".join(map(str, seeds))
