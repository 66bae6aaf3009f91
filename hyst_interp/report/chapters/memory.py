"""Where the memory is: questions and their answers in one table, each with its control."""

from hyst_interp.questions import questions
from hyst_interp.report.answers import UNDETERMINED, Answer
from hyst_interp.report.blocks import Cell, Chapter, Table
from hyst_interp.report.run_results import RunResults

NOTHING = "Without a gap whose interval leaves out 0 nothing is answered."


def answers(source: RunResults) -> list[Answer]:
    """Answers to those questions that have one and that the run has results for, in the questions' order."""
    possible = [question.find(reference)(source) for question in questions() for reference in question.answers]
    return [answer for answer in possible if answer is not None]


def chapter(source: RunResults) -> Chapter | None:
    """Left out where the run has not looked for the memory at all."""
    given = answers(source)
    if not given:
        return None
    words = {"answered": sum(answer.answer != UNDETERMINED for answer in given), "asked": len(given)}
    return Chapter("memory", "Where the memory is", "Where the memory is", {"memory": _table(given)}, [], words)


def _table(found: list[Answer]) -> Table:
    rows = [
        [
            Cell(answer.question, kind="lead"),
            Cell(answer.answer, kind="faint" if answer.answer == UNDETERMINED else ""),
            Cell(answer.words, kind="small"),
            Cell(answer.control, kind="small"),
        ]
        for answer in found
    ]
    head = ("question", "answer", "what it rests on", "control")
    return Table("Questions that the paper leaves open", head, rows, (_rules(found),), "cards answers")


def _rules(found: list[Answer]) -> str:
    """The rule behind every answer, each once."""
    return " ".join(["Rules.", *dict.fromkeys(answer.rule for answer in found), NOTHING])
