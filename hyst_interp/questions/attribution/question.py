"""The record of the question: what does every component add to the gap directly, as terms of an exact sum?"""

from hyst_interp.analysis.question import Orders, Question, StageRecord

QUESTION = Question(
    name="attribution",
    title="The gap as a sum: direct attribution",
    help="What does every component add to the gap directly, as terms of an exact sum?",
    package=__name__.removesuffix(".question"),
    stage=StageRecord("attribution", "stage:run", ("patching", "attenuation"), Orders.MAPPED),
    chapters=("chapter:chapter",),
    figures=("figure:direct_forest",),
)
