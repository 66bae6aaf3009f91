"""The record of the question: do the same cells matter in both histories, and how strongly?"""

from hyst_interp.analysis.question import CommandRecord, Group, Need, Question

QUESTION = Question(
    name="similarity",
    title="The same circuit? How strongly engaged?",
    help="Do the same cells matter in both histories, and how strongly?",
    package=__name__.removesuffix(".question"),
    needs=(Need.CHECKPOINTS, Need.RUN),
    command=CommandRecord("command:compare", "Behaviour, topology and gain of two histories.", Group.COMPARE),
    chapters=("chapter:chapter",),
    pair_methods=(
        "methods:similarity",
        "methods:dominant_head",
        "methods:gain",
    ),
    run_methods=(
        "of_run:comparisons",
        "of_run:engagements",
    ),
    public=("measure:similarity",),
    figures=(
        "figure:similarity_dots",
        "engagement_figure:circuit_and_gain",
    ),
)
