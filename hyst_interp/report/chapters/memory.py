"""Where the memory is: five questions and their answers in one table, each with its control."""

from hyst_interp.report.answers import RULES, UNDETERMINED, Answer, answers
from hyst_interp.report.blocks import Cell, Chapter, Table
from hyst_interp.report.source import Source


def chapter(source: Source) -> Chapter | None:
    """Left out where the run has not looked for the memory at all."""
    found = answers(source)
    if not found:
        return None
    words = {"answered": sum(one.answer != UNDETERMINED for one in found), "asked": len(found)}
    return Chapter("memory", "Where the memory is", "Where the memory is", {"memory": _table(found)}, [], words)


def _table(found: list[Answer]) -> Table:
    rows = [
        [
            Cell(one.question, kind="lead"),
            Cell(one.answer, kind="faint" if one.answer == UNDETERMINED else ""),
            Cell(one.words, kind="small"),
            Cell(one.control, kind="small"),
        ]
        for one in found
    ]
    head = ("question", "answer", "what it rests on", "control")
    return Table("Five questions that the paper leaves open", head, rows, (RULES,), "cards answers")
