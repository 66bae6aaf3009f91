"""The record of the question: is it a mean, or information, and which estimator can tell?"""

from hyst_interp.analysis.question import CommandRecord, Group, Orders, Question, StageRecord

QUESTION = Question(
    name="information",
    title="Mean or information, and which estimator to trust",
    help="Is what a component carries its mean, or what depends on the prompt, and which estimator can tell?",
    package=__name__.removesuffix(".question"),
    stage=StageRecord("information", "stage:run", ("localization", "attenuation"), Orders.LOCATED),
    command=CommandRecord("command:information", "What components carry: a mean, or information.", Group.WHERE),
    chapters=("chapter:chapter",),
    answers=("answer:answer",),
    pair_methods=("methods:information",),
    run_methods=("of_run:information",),
    public=("measure:information",),
    figures=("figure:information_dots",),
)
