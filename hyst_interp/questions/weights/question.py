"""The record of the question: which groups of weights carry the gap, moved between the histories?"""

from hyst_interp.analysis.question import CommandRecord, Group, Orders, Question, StageRecord

QUESTION = Question(
    name="weights",
    title="Which weights",
    help="Which groups of weights carry the gap, moved between the histories?",
    package=__name__.removesuffix(".question"),
    stage=StageRecord("weights", "stage:run", ("localization",), Orders.LOCATED),
    command=CommandRecord("command:weights", "Which groups of weights carry the gap.", Group.WHERE),
    chapters=("chapter:chapter",),
    answers=("answer:answer",),
    pair_methods=("methods:weights",),
    run_methods=("of_run:moves",),
    public=("measure:weight_patching",),
    figures=("figure:weight_move_dots",),
)
