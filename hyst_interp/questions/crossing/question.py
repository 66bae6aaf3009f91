"""The record of the question: where does content of one history suffice in the other, and where is it needed?"""

from hyst_interp.analysis.question import CommandRecord, Group, Need, Orders, Question, StageRecord

QUESTION = Question(
    name="crossing",
    title="A map of the asymmetry",
    help="Where does content of one history suffice in the other, where is it needed, and what relaxes later?",
    package=__name__.removesuffix(".question"),
    needs=(Need.CHECKPOINTS, Need.OPTIMIZER),
    stage=StageRecord("crossing", "stage:run", ("localization", "behaviour", "holds"), Orders.LOCATED),
    command=CommandRecord("command:cross", "Where content of one history suffices in the other.", Group.WHERE),
    chapters=("chapter:chapter",),
    pair_methods=(
        "methods:crossing",
        "methods:layer_swap",
    ),
    public=(
        "measure:cross_model_patching",
        "layer_swap:layer_swap",
        "crossing_over_time:crossing_over_time",
    ),
    figures=(
        "figure:crossing_map",
        "figure:layer_swap_steps",
        "over_time_figure:over_time_course",
    ),
)
