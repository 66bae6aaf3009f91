"""The report's chapters in reading order: what frames the questions, and the questions' own.

A chapter is a function from the run (`RunResults`) to a `Chapter`, or to None where the run lacks what it needs. Its
template stands beside its module, under the module's name.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from hyst_interp.questions import questions
from hyst_interp.report.blocks import Chapter
from hyst_interp.report.chapters import anchors, memory, paper, reproduce
from hyst_interp.report.run_results import RunResults

Maker = Callable[[RunResults], Chapter | None]
FIRST: tuple[Maker, ...] = (paper.chapter, memory.chapter)
LAST: tuple[Maker, ...] = (anchors.chapter, reproduce.chapter)


def makers() -> Iterator[Maker]:
    """Every chapter's function, in the page's order."""
    yield from FIRST
    for question in questions():
        yield from (question.find(reference) for reference in question.chapters)
    yield from LAST


def chapters(source: RunResults) -> list[Chapter]:
    """Every chapter that the run has the results for, each with its template."""
    made = ((make, make(source)) for make in makers())
    return [
        chapter if chapter.template else replace(chapter, template=template_of(make))
        for make, chapter in made
        if chapter is not None
    ]


def template_of(make: Maker) -> Path:
    """The file beside a chapter's module that has the module's name and the ending .html."""
    return Path(str(sys.modules[make.__module__].__file__)).with_suffix(".html")
