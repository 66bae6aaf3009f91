"""Figures: labelled arrays in, plotly figures out. They compute nothing, and nobody calls `.show()`.

    import hyst_interp as hi
    figure = hi.figures.heatmap(pair.patching("resid_pre"))
    hi.figures.write_figure(figure, "patching.html")

Every figure wears one template (`theme`), states in its title what is shown, and carries its units on its axes. Those
with several panels take `stacked=True` to set them one below the other, for narrow columns.

This file is a lazy table of names (PEP 562): importing it imports no plotly.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hyst_interp.explorer.head_maps import head_maps
    from hyst_interp.explorer.page import explorer_page
    from hyst_interp.plots.browsers import browser_path
    from hyst_interp.plots.heatmap import heatmap
    from hyst_interp.plots.write import write_figure
    from hyst_interp.questions.attenuation.figure import logits_moved_forest
    from hyst_interp.questions.attribution.figure import direct_forest
    from hyst_interp.questions.calibration.figure import specification_curve
    from hyst_interp.questions.crossing.figure import crossing_map, ladder_steps
    from hyst_interp.questions.crossing.over_time_figure import mechanism_course
    from hyst_interp.questions.edges.attribution_figure import attribution_dots
    from hyst_interp.questions.edges.faithfulness_figure import faithfulness_curves
    from hyst_interp.questions.edges.figure import route_graph
    from hyst_interp.questions.edges.map_figure import edge_map
    from hyst_interp.questions.gap.figure import gap_course
    from hyst_interp.questions.gap.holds_figure import gap_at_holds
    from hyst_interp.questions.gap.keys_figure import gap_by_key
    from hyst_interp.questions.gap.loop_figure import margin_loop
    from hyst_interp.questions.gap.margin_figure import margin_course
    from hyst_interp.questions.gap.schedule_figure import mixture_steps
    from hyst_interp.questions.information.figure import information_dots
    from hyst_interp.questions.shapley.figure import shapley_dumbbells
    from hyst_interp.questions.similarity.engagement_figure import circuit_and_gain
    from hyst_interp.questions.similarity.figure import similarity_dots
    from hyst_interp.questions.transplant.figure import transplant_course
    from hyst_interp.questions.weights.figure import weight_move_dots
    from hyst_interp.report.anchors_figure import anchor_convergence

_HOME = {
    "anchor_convergence": "convergences",
    "attribution_dots": "attributions",
    "browser_path": "browsers",
    "circuit_and_gain": "engagements",
    "crossing_map": "crossings",
    "direct_forest": "direct_terms",
    "edge_map": "edge_maps",
    "explorer_page": "explorer",
    "faithfulness_curves": "faithfulness",
    "gap_at_holds": "gap_dots",
    "gap_by_key": "key_gaps",
    "gap_course": "gap_courses",
    "head_maps": "explorer_maps",
    "heatmap": "heatmaps",
    "information_dots": "information",
    "ladder_steps": "crossings",
    "logits_moved_forest": "replacements",
    "margin_course": "courses",
    "margin_loop": "loops",
    "mechanism_course": "mechanisms",
    "mixture_steps": "schedules",
    "route_graph": "routes",
    "shapley_dumbbells": "shapley",
    "similarity_dots": "similarities",
    "specification_curve": "specifications",
    "transplant_course": "transplants",
    "weight_move_dots": "weight_moves",
    "write_figure": "write",
}

__all__ = [
    "anchor_convergence",
    "attribution_dots",
    "browser_path",
    "circuit_and_gain",
    "crossing_map",
    "direct_forest",
    "edge_map",
    "explorer_page",
    "faithfulness_curves",
    "gap_at_holds",
    "gap_by_key",
    "gap_course",
    "head_maps",
    "heatmap",
    "information_dots",
    "ladder_steps",
    "logits_moved_forest",
    "margin_course",
    "margin_loop",
    "mechanism_course",
    "mixture_steps",
    "route_graph",
    "shapley_dumbbells",
    "similarity_dots",
    "specification_curve",
    "transplant_course",
    "weight_move_dots",
    "write_figure",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
