"""The report's figures with their captions: what is seen, and what follows from it by a rule.

Captions hold no typed number and no typed verdict: both are filled in from the findings.
"""

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from hyst_interp import figures as draw
from hyst_interp.comparison.bands import as_arrays, band
from hyst_interp.comparison.courses import best_margin
from hyst_interp.config import StudyConfig
from hyst_interp.history.convergence import ANSWER_MASS
from hyst_interp.report.blocks import Figure, figure
from hyst_interp.report.findings import Findings, at_holds, margin_band
from hyst_interp.report.wording import direction, estimate, method
from hyst_interp.statistics import Estimate


def figures(found: Findings, study: StudyConfig) -> list[Figure]:
    """Every figure of the report, in reading order; several (maps of further seeds) only stand in `figures/`."""
    bands = margin_band(found)
    arrival, holds = found.updates, at_holds(found.parts["margin"])
    batches = " on the same batches" if study.schedule.pairing == "paired" else ""
    drawn = [
        _both(
            "schedule",
            lambda stacked: draw.mixture_steps(found.mixture, arrival, stacked),
            f"The mixture p at every update. Both branches visit the same mixtures{batches}, in opposite order; the"
            " line marks the end of the schedule, after which both stay at p0.",
        ),
        _both(
            "margin-loop",
            lambda stacked: draw.margin_loop(found.margins, bands["estimate"], arrival, stacked),
            "Mean margin on conflict trials against the best margin at the current mixture, from the fork (ring) to"
            " arrival (diamond). Thin lines are seeds, the thick one their mean, arrows give the direction of time."
            " A network that always kept up would stay on the dashed diagonal; a loop around it is the lag of a"
            " finite rate.",
        ),
        _both(
            "margin-course",
            lambda stacked: draw.margin_course(found.margins, bands, arrival, stacked),
            "The same margins over updates since the fork, with the best margin dotted beside them. Bands:"
            f" {_band_words(bands.attrs)}.",
        ),
        _both(
            "gap-course",
            lambda stacked: draw.gap_course(found.curve, band(found.curve), stacked),
            "First the gap along the whole schedule and hold, then the same from the last update at p ≠ p0 on, on"
            " its own scale. The lower axis counts τ, the upper one the paper's hold, so the same moment has two"
            f" names. By the sign of its interval: on arrival {direction(holds[0])}.",
        ),
        _both(
            "gap-holds",
            lambda stacked: draw.gap_at_holds(found.gaps, found.parts["margin"], band(found.parts["margin"]), stacked),
            f"The gap at each hold. {_hold_words(holds)} An arrow head means that an interval goes on beyond the"
            f" picture. Intervals: {method(holds[0])}.",
        ),
    ]
    drawn.extend(_maps(found))
    if 0 in found.replaced:
        drawn.append(_attenuation(found))
    unlike = [one.unlikeness() for one in found.likeness]
    if unlike:
        drawn.append(
            _both(
                "similarity",
                lambda stacked: draw.similarity_dots(unlike, stacked=stacked),
                "Pearson r of the two histories' role maps, both twins joined, one diamond a seed; beside it the"
                " ceiling (siblings: the same branch on other data) and the floor (other seeds). The histories use"
                " one circuit as far as their r lies among its ceiling's; it says little as far as the floor reaches"
                " it. Dashed: the paper's bound.",
            )
        )
    targets = {"answer_mass": ANSWER_MASS, "margin": float(best_margin(np.array([study.p0]))[0])}
    drawn.append(
        _both(
            "anchors",
            lambda stacked: draw.anchor_convergence(found.anchors, targets, stacked),
            "What the convergence criterion saw of every anchor, one line a seed; the diamond is the checkpoint that"
            " was forked. Dashed: the least answer mass, and the best margin at p0.",
        )
    )
    return drawn


def _both(name: str, make: Callable[[bool], go.Figure], caption: str) -> Figure:
    return figure(name, make(False), make(True), caption)


def _maps(found: Findings) -> list[Figure]:
    drawn = []
    for name, array in found.maps.items():
        whose = f"seed {name.rpartition('-')[2]}" if "-seed-" in name else "the mean over seeds"
        first = found.margins["seed"].values[0]
        if "position" in name:
            whose = f"seed {first}" if "head" in array.dims else "the mean over seeds"
        place = "at every position of the prompt" if "pos" in array.dims else "at all positions of a role together"
        twin = {"value": "the contextual answer", "rename": "the fixed answer"}[str(array.attrs["twin"])]
        caption = (
            f"Raw effect of carrying the clean run into the corrupted one {place}, {whose}. In the"
            f" {array.attrs['twin']} twin {twin} is what the corruption changed. Both histories share one scale; the"
            " difference has its own, and its size against the histories' scale is what tells engagement from"
            " circuit."
        )
        drawn.append(_both(name, lambda stacked, array=array: draw.heatmap(array, stacked), caption))
    return drawn


def _attenuation(found: Findings) -> Figure:
    rows, gap = found.replaced[0].rows, found.replaced[0].gap
    moved = as_arrays([_number(row["logits_moved"]) for row in rows], "row").assign_coords(
        components=("row", [str(row["components"]) for row in rows]),
        reference=("row", [str(row["reference"]) for row in rows]),
        share=("row", [estimate(_number(row["attenuation"])) for row in rows]),
    )
    mark = as_arrays([gap], "cell").isel(cell=0)
    return _both(
        "attenuation",
        lambda stacked: draw.logits_moved_forest(moved, mark, stacked),
        "Logits moved on arrival when the output of components at the query is replaced in both networks, by"
        f" reference; circles are single components, diamonds joint sets. The dashed line is the gap, {estimate(gap)}"
        " logits, with its interval shaded: a set whose point lies on the line carries the whole gap. The share is"
        f" undefined where the gap's interval contains 0. Intervals: {method(gap)}.",
    )


def _number(value: str | Estimate) -> Estimate:
    if isinstance(value, str):
        raise TypeError(f"'{value}' is no estimate")
    return value


def _band_words(attrs: dict) -> str:
    return f"{attrs['level']:.0%}, {attrs['method']}, n = {attrs['n']}".replace("%", " %")


def _hold_words(holds: dict[int, Estimate]) -> str:
    return " ".join(f"At hold {hold} it is {estimate(one)} logits: {direction(one)}." for hold, one in holds.items())
