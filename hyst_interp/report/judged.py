"""The claims of a run as they were judged, and how a report words them."""

from dataclasses import dataclass

from hyst_interp.claims import Row
from hyst_interp.report.run_results import RunResults
from hyst_interp.verdicts import CLAIM_VERDICTS, Verdict


@dataclass(frozen=True)
class Apart:
    """The claims judged on the paper's number of seeds, where the run has more."""

    seeds: tuple[int, ...]
    rows: list[Row]


def judged(source: RunResults) -> list[Row]:
    """Every claim beside the run."""
    return [Row.from_dict(row) for row in source.judged["rows"]]


def apart(source: RunResults) -> Apart | None:
    """The same on the first seeds alone; None where the run has no more than those."""
    some = source.judged.get("apart")
    return Apart(tuple(some["seeds"]), [Row.from_dict(row) for row in some["rows"]]) if some else None


def claim(source: RunResults, key: str) -> Row | None:
    """A claim by its key."""
    return next((row for row in source.once(judged) if row.key == key), None)


def tally(rows: list[Row]) -> str:
    """How many claims agree, differ, and are undetermined; or that the study is not the paper's."""
    counts = [(sum(row.verdict == word for row in rows), word) for word in CLAIM_VERDICTS]
    if not any(count for count, _ in counts):
        return "This study is not the paper's: its numbers stand beside the paper's, and no verdict is given."
    words = {Verdict.AGREES: (Verdict.AGREES, Verdict.AGREE), Verdict.DIFFERS: (Verdict.DIFFERS, "differ")}
    words |= {Verdict.UNDETERMINED: ("is undetermined", "are undetermined")}
    parts = [f"{count} {words[word][count != 1]}" for count, word in counts]
    return f"Of {len(rows)} quantities, {parts[0]} with the paper, {parts[1]}, and {parts[2]}."


def verdict_class(verdict: str) -> str:
    """CSS class of a verdict."""
    return verdict if verdict in CLAIM_VERDICTS else "incomparable"


def verdict_word(verdict: str) -> str:
    """A verdict as printed."""
    return verdict if verdict in CLAIM_VERDICTS else "not comparable"
