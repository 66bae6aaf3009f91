"""What replacing a component moves, in logits, one row a set and reference, with the gap as the mark to reach.

A row whose point lies on the gap's line carries the whole gap. Intervals that leave the picture end in an arrow.
"""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.intervals import limits, whiskers
from hyst_interp.plots.theme import DIFFERENCE, FAINT, INK, PAPER, QUIET, SMALL, rgba, themed

REFERENCES = {"own-mean": "#8C5A00", "donor": "#1B6E53", "pooled-mean": "#7A2F5D", "anchor-mean": "#44546A"}
"""Colour of a reference."""
ROW, HEADING, TOP, BOTTOM = 20, 30, 84, 60
"""Heights in pixels."""
JOINT = ("heads", "mlps", "all")


def logits_moved_forest(moved: xr.Dataset, gap: xr.Dataset, stacked: bool = False) -> go.Figure:
    """Logits moved by every replacement, grouped by reference, with the gap as a line and its interval as a band.

    Args:
        moved: variables `estimate`, `low`, `high`, dim (row,), with coordinates `components` and `reference`, and
            `share`, the share of the gap as text, which is printed at the right.
        gap: `estimate`, `low`, `high` without dims.
        stacked: for narrow columns: the texts at the right are left out.
    """
    components = [str(name) for name in moved["components"].values]
    references = [str(name) for name in moved["reference"].values]
    places, headings, depth = _places(references)
    ends = [moved["low"].values, moved["high"].values]
    low, high = limits(np.append(moved["estimate"].values, float(gap["estimate"])), ends, 0.5)
    figure = themed("Logits moved by replacing components at the query, and the gap", height=int(TOP + BOTTOM + depth))
    _draw_gap(figure, gap, depth)
    for reference in dict.fromkeys(references):
        rows = [i for i, one in enumerate(references) if one == reference]
        colour = REFERENCES.get(reference, QUIET)
        one = moved.isel(row=rows)
        heights = [places[i] for i in rows]
        figure.add_traces(whiskers(one["low"].values, one["high"].values, heights, colour, (low, high)))
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
        for place, text in zip(places, moved["share"].values, strict=True):
            figure.add_annotation(
                text=str(text),
                x=1,
                xref="paper",
                y=place,
                yref="y",
                xanchor="left",
                yanchor="middle",
                xshift=10,
                font={"size": SMALL, "color": QUIET if str(text).startswith("undefined") else INK},
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


def _draw_gap(figure: go.Figure, gap: xr.Dataset, depth: float) -> None:
    estimate, low, high = (float(gap[name]) for name in ("estimate", "low", "high"))
    if np.isfinite(low) and np.isfinite(high):
        figure.add_shape(
            type="rect",
            x0=low,
            x1=high,
            y0=0,
            y1=1,
            yref="y domain",
            fillcolor=rgba(DIFFERENCE, 0.08),
            line={"width": 0},
            layer="below",
        )
    if np.isfinite(estimate):
        figure.add_shape(
            type="line",
            x0=estimate,
            x1=estimate,
            y0=0,
            y1=1,
            yref="y domain",
            line={"color": DIFFERENCE, "width": 1.6, "dash": "dash"},
        )
        figure.add_annotation(
            text="the gap",
            x=estimate,
            y=1,
            yref="y domain",
            yanchor="bottom",
            yshift=4,
            font={"size": SMALL, "color": DIFFERENCE},
        )
