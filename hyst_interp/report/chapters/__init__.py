"""The report's chapters in reading order, one file each: its numbers as tables, its figures, its template beside it.

A chapter is a function from the run (`Source`) to a `Chapter`, or to None where the run lacks what it needs.
"""

from hyst_interp.questions.attenuation import chapter as attenuation
from hyst_interp.questions.attribution import chapter as direct
from hyst_interp.questions.calibration import chapter as calibration
from hyst_interp.questions.crossing import chapter as crossing
from hyst_interp.questions.edges import chapter as routes
from hyst_interp.questions.gap import (
    chapter as gap,
)
from hyst_interp.questions.gap import (
    margins_chapter as margins,
)
from hyst_interp.questions.gap import (
    schedule_chapter as schedule,
)
from hyst_interp.questions.gap import (
    variance_chapter as spread,
)
from hyst_interp.questions.information import chapter as information
from hyst_interp.questions.patching import attention_chapter as attention
from hyst_interp.questions.patching import chapter as maps
from hyst_interp.questions.shapley import chapter as shapley
from hyst_interp.questions.similarity import chapter as similarity
from hyst_interp.questions.transplant import chapter as transplant
from hyst_interp.questions.weights import chapter as weights
from hyst_interp.report.blocks import Chapter
from hyst_interp.report.chapters import anchors, memory
from hyst_interp.report.chapters import paper as verdicts
from hyst_interp.report.chapters import reproduce as again
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
