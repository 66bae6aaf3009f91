"""The record of the question: on which edges between nodes do the answer and the gap travel, and in which circuits?"""

from hyst_interp.analysis.question import CommandRecord, Group, Orders, Question, StageRecord

QUESTION = Question(
    name="edges",
    title="On which edges",
    help="On which edges between nodes do the answer and the gap travel, and in which circuits?",
    package=__name__.removesuffix(".question"),
    stage=StageRecord("edges", "stage:run", ("localization", "patching"), Orders.LOCATED),
    command=CommandRecord("command:edges", "Edges and circuits: how answer and gap travel.", Group.WHERE),
    chapters=("chapter:chapter",),
    answers=("answer:answer",),
    pair_methods=(
        "methods:edge_effects",
        "methods:edges",
        "methods:gap_edges",
        "methods:circuit",
        "methods:edge_attribution",
    ),
    run_methods=("of_run:edge_kinds",),
    public=(
        "edge_attribution:attribution",
        "edge_circuits:circuit",
        "measure:edge_effects",
        "edge_circuits:faithfulness_curve",
        "measure:gap_effects",
        "measure:pair_effects",
        "edge_circuits:prune",
        "edge_circuits:ranking",
    ),
    figures=(
        "figure:edge_graph",
        "map_figure:edge_map",
        "faithfulness_figure:faithfulness_curves",
        "attribution_figure:attribution_dots",
    ),
)
