"""The record of the question: how much of the gap goes when the outputs of components are replaced?"""

from hyst_interp.analysis.question import CommandRecord, Group, Question, StageRecord

QUESTION = Question(
    name="attenuation",
    title="What carries the gap",
    help="How much of the gap goes when the outputs of components are replaced?",
    package=__name__.removesuffix(".question"),
    stage=StageRecord("attenuation", "stage:run", ("attenuation",)),
    command=CommandRecord("command:attenuate", "How much of the gap goes with which components.", Group.WHERE),
    chapters=("chapter:chapter",),
    pair_methods=(
        "methods:attenuation",
        "methods:replaced",
    ),
    run_methods=("of_run:replaced",),
    public=("measure:attenuation",),
    figures=("figure:logits_moved_forest",),
)
