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
    from hyst_interp.figures.browsers import browser_path
    from hyst_interp.figures.convergences import anchor_convergence
    from hyst_interp.figures.courses import margin_course
    from hyst_interp.figures.direct_terms import direct_forest
    from hyst_interp.figures.engagements import circuit_and_gain
    from hyst_interp.figures.explorer import explorer_page
    from hyst_interp.figures.explorer_maps import head_maps
    from hyst_interp.figures.gap_courses import gap_course
    from hyst_interp.figures.gap_dots import gap_at_holds
    from hyst_interp.figures.heatmaps import heatmap
    from hyst_interp.figures.key_gaps import gap_by_key
    from hyst_interp.figures.loops import margin_loop
    from hyst_interp.figures.replacements import logits_moved_forest
    from hyst_interp.figures.schedules import mixture_steps
    from hyst_interp.figures.similarities import similarity_dots
    from hyst_interp.figures.specifications import specification_curve
    from hyst_interp.figures.write import write_figure

_HOME = {
    "anchor_convergence": "convergences",
    "browser_path": "browsers",
    "circuit_and_gain": "engagements",
    "direct_forest": "direct_terms",
    "explorer_page": "explorer",
    "gap_at_holds": "gap_dots",
    "gap_by_key": "key_gaps",
    "gap_course": "gap_courses",
    "head_maps": "explorer_maps",
    "heatmap": "heatmaps",
    "logits_moved_forest": "replacements",
    "margin_course": "courses",
    "margin_loop": "loops",
    "mixture_steps": "schedules",
    "similarity_dots": "similarities",
    "specification_curve": "specifications",
    "write_figure": "write",
}

__all__ = [
    "anchor_convergence",
    "browser_path",
    "circuit_and_gain",
    "direct_forest",
    "explorer_page",
    "gap_at_holds",
    "gap_by_key",
    "gap_course",
    "head_maps",
    "heatmap",
    "logits_moved_forest",
    "margin_course",
    "margin_loop",
    "mixture_steps",
    "similarity_dots",
    "specification_curve",
    "write_figure",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
