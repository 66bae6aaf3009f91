"""The report's chapters in reading order, one file each: its numbers as tables, its figures, its template beside it.

A chapter is a function from the run (`Source`) to a `Chapter`, or to None where the run lacks what it needs.
"""

from hyst_interp.report.blocks import Chapter
from hyst_interp.report.chapters import (
    again,
    anchors,
    attention,
    attenuation,
    calibration,
    crossing,
    direct,
    gap,
    information,
    maps,
    margins,
    memory,
    routes,
    schedule,
    shapley,
    similarity,
    spread,
    transplant,
    verdicts,
    weights,
)
from hyst_interp.report.source import Source

ORDER = (
    verdicts,
    schedule,
    margins,
    gap,
    spread,
    maps,
    attenuation,
    direct,
    similarity,
    attention,
    memory,
    transplant,
    weights,
    shapley,
    information,
    crossing,
    routes,
    anchors,
    calibration,
    again,
)


def chapters(source: Source) -> list[Chapter]:
    """Every chapter that the run has the results for."""
    return [made for one in ORDER if (made := one.chapter(source)) is not None]
