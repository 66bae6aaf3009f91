"""Margins along both branches, over the best margin and over updates."""

from hyst_interp.analysis.summary import cell, summarise
from hyst_interp.questions.gap.loop_figure import margin_loop
from hyst_interp.questions.gap.margin_figure import margin_course
from hyst_interp.questions.gap.schedule_chapter import arrival
from hyst_interp.questions.gap.trajectory import branch_margins
from hyst_interp.report.blocks import Chapter, both
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import method


def chapter(source: RunResults) -> Chapter:
    """Always there: a run has a trajectory."""
    margins, end = branch_margins(source.results["trajectory"]), arrival(source)
    bands = summarise(margins)
    drawn = [
        both(
            "margin-loop",
            lambda stacked: margin_loop(margins, bands["estimate"], end, stacked),
            "Mean margin on conflict trials against the best margin at the current mixture, from the fork (ring) to"
            " arrival (diamond). Thin lines are seeds, the thick one their mean, arrows give the direction of time."
            " A network that always kept up would stay on the dashed diagonal; a loop around it is the lag of a"
            " finite rate.",
        ),
        both(
            "margin-course",
            lambda stacked: margin_course(margins, bands, end, stacked),
            "The same margins over updates since the fork, with the best margin dotted beside them. Bands:"
            f" {method(cell(bands.isel(branch=0, position=0)))}.",
        ),
    ]
    return Chapter("margins", "Margins along both branches", "Margins", {}, drawn)
