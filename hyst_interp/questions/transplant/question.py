"""The record of the question: did the weights carry the gap, or the optimizer's state?"""

from hyst_interp.analysis.question import CommandRecord, Group, Need, Orders, Question, StageRecord

QUESTION = Question(
    name="transplant",
    title="Optimizer or weights",
    help="Did the weights carry the gap, or the optimizer's state?",
    package=__name__.removesuffix(".question"),
    needs=(Need.CHECKPOINTS, Need.ANCHOR, Need.OPTIMIZER),
    stage=StageRecord("transplant", "stage:run", ("localization",), Orders.LOCATED),
    command=CommandRecord("command:transplant", "Did weights or optimizer carry the gap of a run?", Group.WHERE),
    chapters=("chapter:chapter",),
    answers=("answer:answer",),
    pair_methods=("methods:transplant",),
    run_methods=("of_run:transplanted",),
    public=("measure:transplant",),
    figures=("figure:transplant_course",),
)
