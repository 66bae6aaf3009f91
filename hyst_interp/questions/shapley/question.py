"""The record of the question: how much of the gap does every component carry, on average over who moves before it?"""

from hyst_interp.analysis.question import CommandRecord, Group, Orders, Question, StageRecord

QUESTION = Question(
    name="shapley",
    title="Who carries the gap, and who only works together",
    help="How much of the gap does every component carry, on average over who moves before it?",
    package=__name__.removesuffix(".question"),
    stage=StageRecord("shapley", "stage:run", ("localization", "attenuation"), Orders.LOCATED),
    command=CommandRecord("command:shapley", "Every coalition of components, and what each is worth.", Group.WHERE),
    chapters=("chapter:chapter",),
    answers=("answer:answer",),
    pair_methods=("methods:shapley",),
    run_methods=(
        "of_run:games",
        "of_run:places",
    ),
    public=(
        "games:donor_game",
        "games:own_mean_game",
        "measure:shapley",
        "sampling:sampled_shapley",
    ),
    figures=("figure:shapley_dumbbells",),
)
