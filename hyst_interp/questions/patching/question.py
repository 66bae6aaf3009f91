"""The record of the question: which cells of either network carry the answer, and where do heads look?"""

from hyst_interp.analysis.question import CommandRecord, Group, Orders, Question, StageRecord

QUESTION = Question(
    name="patching",
    title="Where the answer comes from",
    help="Which cells of either network carry the answer, by activation patching, and where do heads look?",
    package=__name__.removesuffix(".question"),
    stage=StageRecord("patching", "stage:run", ("patching", "attenuation"), Orders.MAPPED),
    command=CommandRecord("command:patch", "Where the answer is carried: patching maps.", Group.WHERE),
    chapters=(
        "chapter:chapter",
        "attention_chapter:chapter",
    ),
    pair_methods=(
        "methods:patching",
        "methods:role_maps",
    ),
    run_methods=("of_run:effects",),
)
