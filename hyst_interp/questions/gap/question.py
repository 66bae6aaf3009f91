"""The record of the question: does behaviour differ between the histories, and does the difference last?"""

from hyst_interp.analysis.question import CommandRecord, Group, Need, Question, StageRecord

QUESTION = Question(
    name="gap",
    title="The gap: lag, overshoot, relaxation",
    help="Does behaviour differ between the histories, and does the difference last?",
    package=__name__.removesuffix(".question"),
    needs=(Need.CHECKPOINTS, Need.HOLDS),
    stage=StageRecord("behaviour", "stage:run", ("behaviour", "attenuation")),
    command=CommandRecord("command:relax", "How the gap of a run goes, and whether it has gone.", Group.LASTS),
    chapters=(
        "schedule_chapter:chapter",
        "margins_chapter:chapter",
        "chapter:chapter",
        "variance_chapter:chapter",
    ),
    pair_methods=(
        "methods:gap",
        "methods:margins",
        "methods:mean_margins",
        "methods:by_stratum",
        "methods:by_key",
    ),
    run_methods=(
        "of_run:curve",
        "of_run:largest",
        "of_run:relaxation",
        "of_run:named_phases",
        "of_run:gaps",
    ),
    public=("pair_gap:gap",),
    figures=(
        "figure:gap_course",
        "holds_figure:gap_at_holds",
        "keys_figure:gap_by_key",
        "loop_figure:margin_loop",
        "margin_figure:margin_course",
        "schedule_figure:mixture_steps",
    ),
)
