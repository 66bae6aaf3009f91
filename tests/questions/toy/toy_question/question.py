"""The record of the question: how wide do the margins of both histories scatter?"""

from hyst_interp.analysis.question import CommandRecord, Group, Question, StageRecord

QUESTION = Question(
    name="toy",
    title="How wide do margins scatter?",
    help="How wide do the margins of both histories scatter over trials?",
    package=__name__.removesuffix(".question"),
    stage=StageRecord("toy", "stage:run", ("behaviour",)),
    command=CommandRecord("command:toy", "How wide the margins of a run scatter.", Group.COMPARE),
    chapters=("chapter:chapter",),
    answers=("chapter:answer",),
    pair_methods=("methods:toy_width",),
)
