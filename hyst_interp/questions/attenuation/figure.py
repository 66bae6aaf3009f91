"""What replacing a component moves, in logits, one row a set and reference, with the gap as the mark to reach.

A row whose point lies on the gap's line carries the whole gap. Intervals that leave the picture end in an arrow.
"""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.analysis.summary import cell
from hyst_interp.plots.intervals import limits, whiskers
from hyst_interp.plots.theme import DIFFERENCE, FAINT, INK, PAPER, QUIET, SMALL, rgba, themed
from hyst_interp.references import ANCHOR_MEAN, DONOR, OWN_MEAN, POOLED_MEAN
from hyst_interp.report.wording import estimate
from hyst_interp.statistics import Estimate

REFERENCES = {
    OWN_MEAN.name: "#8C5A00",
    DONOR.name: "#1B6E53",
    POOLED_MEAN.name: "#7A2F5D",
    ANCHOR_MEAN.name: "#44546A",
}
"""Colour of a reference."""
ROW, HEADING, TOP, BOTTOM = 20, 30, 84, 60
"""Heights in pixels."""
JOINT = ("heads", "mlps", "all")


def logits_moved_forest(replaced: xr.Dataset, gap: Estimate, stacked: bool = False) -> go.Figure:
    """Logits moved by every replacement, grouped by reference, with the gap as a line and its interval as a band.

    Args:
        replaced: a table, dims (quantity, row), with the coordinates `components` and `reference`: of the quantity
            `logits_moved` points and intervals are drawn, `attenuation` is printed at the right.
        gap: before any replacement.
        stacked: for narrow columns: the texts at the right are left out.
    """
    moved = replaced.sel(quantity="logits_moved")
    components = [str(name) for name in moved["components"].values]
    references = [str(name) for name in moved["reference"].values]
    places, headings, depth = _places(references)
    ends = [moved["low"].values, moved["high"].values]
    low, high = limits(np.append(moved["estimate"].values, np.nan if gap.estimate is None else gap.estimate), ends, 0.5)
    figure = themed("Logits moved by replacing components at the query, and the gap", height=int(TOP + BOTTOM + depth))
    _draw_gap(figure, gap, depth)
    for reference in dict.fromkeys(references):
        rows = [i for i, name in enumerate(references) if name == reference]
        colour = REFERENCES.get(reference, QUIET)
        drawn = moved.isel(row=rows)
        heights = [places[i] for i in rows]
        figure.add_traces(whiskers(drawn["low"].values, drawn["high"].values, heights, colour, (low, high)))
        figure.add_trace(
            go.Scatter(
                x=moved["estimate"].values[rows],
                y=heights,
                mode="markers",
                marker={
                    "size": [10 if components[i] in JOINT else 7 for i in rows],
                    "symbol": ["diamond" if components[i] in JOINT else "circle" for i in rows],
                    "color": colour,
                    "line": {"color": PAPER, "width": 1},
                },
                text=[f"{components[i]}, {reference}" for i in rows],
                hovertemplate="%{text}: %{x:+.3f} logits moved<extra></extra>",
                name=reference,
                showlegend=False,
            )
        )
        figure.add_annotation(
            text=f"<b>{reference}</b>",
            x=0,
            xref="paper",
            y=headings[reference],
            yref="y",
            xanchor="left",
            yanchor="middle",
            font={"color": colour},
        )
    if not stacked:
        for row, place in enumerate(places):
            text = estimate(cell(replaced.isel(row=row), quantity="attenuation"))
            figure.add_annotation(
                text=text,
                x=1,
                xref="paper",
                y=place,
                yref="y",
                xanchor="left",
                yanchor="middle",
                xshift=10,
                font={"size": SMALL, "color": QUIET if text == "undefined" else INK},
            )
        figure.add_annotation(
            text="share of the gap",
            x=1,
            xref="paper",
            y=1,
            yref="paper",
            xanchor="left",
            yanchor="bottom",
            xshift=10,
            yshift=6,
            font={"size": SMALL, "color": QUIET},
        )
    figure.update_xaxes(
        title={"text": "logits moved (gap − gap after)"}, range=[low, high], zeroline=True, zerolinecolor=QUIET
    )
    figure.update_yaxes(
        range=[depth, 0],
        tickvals=places,
        ticktext=components,
        ticks="",
        ticklabelstandoff=8,
        showline=False,
        showgrid=True,
        gridcolor=FAINT,
    )
    return figure.update_layout(margin={"l": 64, "r": 16 if stacked else 168, "t": TOP, "b": BOTTOM})


def _places(references: list[str]) -> tuple[list[float], dict[str, float], float]:
    """Height of every row and of every reference's heading in pixels from the top, and the whole."""
    places, headings, at = [], {}, 0.0
    for reference in references:
        if reference not in headings:
            headings[reference] = at + HEADING / 2
            at += HEADING
        places.append(at + ROW / 2)
        at += ROW
    return places, headings, at + 4


def _draw_gap(figure: go.Figure, gap: Estimate, depth: float) -> None:
    if gap.low is not None and gap.high is not None:
        figure.add_shape(
            type="rect",
            x0=gap.low,
            x1=gap.high,
            y0=0,
            y1=1,
            yref="y domain",
            fillcolor=rgba(DIFFERENCE, 0.08),
            line={"width": 0},
            layer="below",
        )
    if gap.estimate is not None:
        figure.add_shape(
            type="line",
            x0=gap.estimate,
            x1=gap.estimate,
            y0=0,
            y1=1,
            yref="y domain",
            line={"color": DIFFERENCE, "width": 1.6, "dash": "dash"},
        )
        figure.add_annotation(
            text="the gap",
            x=gap.estimate,
            y=1,
            yref="y domain",
            yanchor="bottom",
            yshift=4,
            font={"size": SMALL, "color": DIFFERENCE},
        )
