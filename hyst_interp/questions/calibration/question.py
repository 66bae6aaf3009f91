"""The record of the question: in how many schedules of the calibration grid do the paper's signs hold?"""

from hyst_interp.analysis.question import Need, Question

QUESTION = Question(
    name="calibration",
    title="The choice of the schedule, and what others would have found",
    help="In how many schedules of the calibration grid do the paper's signs hold?",
    package=__name__.removesuffix(".question"),
    needs=(Need.GRID,),
    chapters=("chapter:chapter",),
    figures=("figure:specification_curve",),
)
