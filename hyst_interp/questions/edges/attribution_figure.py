"""Scores from gradients against exact effects: an edge a dot, and how both agreement and scores settle with steps."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.plots.panels import set_panel
from hyst_interp.plots.theme import COLOURS, DIFFERENCE, FAINT, NAMES, QUIET, SMALL, themed

CURVES = {
    "pearson": ("Pearson r with exact effects", "#2F7D5B", "circle"),
    "spearman": ("Spearman r with exact effects", "#8C6D1F", "square"),
    "change": ("distance to the most steps", DIFFERENCE, "diamond"),
    "incompleteness": ("share of the whole difference missed", QUIET, "x"),
}
"""Variable → name in the legend, colour, symbol."""


def attribution_dots(
    exact: xr.DataArray, scores: xr.DataArray, settling: xr.Dataset, stacked: bool = False
) -> go.Figure:
    """EAP-IG scores against exact effects of the same edges, beside what changes with the number of steps.

    Args:
        exact, scores: dims (history, edge), mean effects and mean scores in logits, in the same order.
        settling: variables of `edge_attribution.convergence` over `steps`.
        stacked: panels one below the other instead of side by side.

    Raises:
        UserError: arrays of different edges.
    """
    if list(exact["edge"].values) != list(scores["edge"].values):
        raise UserError(
            f"scores hold {scores.sizes['edge']} edges and effects {exact.sizes['edge']}; give the same ones."
        )
    figure = themed("Edge attribution (EAP-IG) against exact edge patching", height=830 if stacked else 450)
    across = [(0.0, 1.0)] * 2 if stacked else [(0.0, 0.44), (0.56, 1.0)]
    heights = [(0.6, 1.0), (0.0, 0.4)] if stacked else [(0.0, 1.0)] * 2
    both = np.concatenate([exact.values.ravel(), scores.values.ravel()])
    low, high = float(both.min()), float(both.max())
    room = 0.06 * (high - low or 1.0)
    ends = [low - room, high + room]
    line = {"color": FAINT, "width": 1}
    for xs, ys in ((ends, ends), (ends, [0, 0]), ([0, 0], ends)):
        figure.add_trace(go.Scatter(x=xs, y=ys, mode="lines", line=line, hoverinfo="skip", showlegend=False))
    for history, symbol in zip(exact["history"].values, ("circle", "diamond-open", "x"), strict=False):
        name = NAMES.get(str(history), str(history))
        figure.add_trace(
            go.Scatter(
                x=exact.sel(history=history).values,
                y=scores.sel(history=history).values,
                mode="markers",
                marker={"size": 7, "opacity": 0.75, "symbol": symbol, "color": COLOURS.get(str(history), QUIET)},
                text=[str(edge) for edge in exact["edge"].values],
                hovertemplate="%{text}<br>exact %{x:+.3f}, score %{y:+.3f}<extra>" + name + "</extra>",
                name=name,
            )
        )
    for name, (words, colour, symbol) in CURVES.items():
        if name in settling:
            figure.add_trace(
                go.Scatter(
                    x=settling["steps"].values,
                    y=settling[name].values,
                    mode="lines+markers",
                    line={"color": colour, "width": 1.5},
                    marker={"symbol": symbol, "size": 7},
                    xaxis="x2",
                    yaxis="y2",
                    name=words,
                    hovertemplate="%{x} steps: %{y:.3f}<extra>" + words + "</extra>",
                    legend="legend2",
                )
            )
    axis = {"range": ends, "zeroline": False}
    set_panel(
        figure,
        0,
        across[0],
        heights[0],
        x_axis={**axis, "title": {"text": "exact effect (logits)"}},
        y_axis={**axis, "title": {"text": "score (logits)"}},
    )
    steps = [int(step) for step in settling["steps"].values]
    set_panel(
        figure,
        1,
        across[1],
        heights[1],
        x_axis={
            "type": "log",
            "tickvals": steps,
            "ticktext": [str(step) for step in steps],
            "title": {"text": "steps"},
        },
        y_axis={"rangemode": "tozero", "showgrid": True, "gridcolor": FAINT, "title": {"text": "r, or share"}},
    )
    place = {"yanchor": "bottom", "xanchor": "left", "font": {"size": SMALL}, "orientation": "v"}
    return figure.update_layout(
        legend={**place, "x": across[0][0], "y": heights[0][1] + 0.01},
        legend2={**place, "x": across[1][0], "y": heights[1][1] + 0.01},
        margin={"t": 132, "l": 64, "b": 52},
        title={"y": 1, "yanchor": "top", "pad": {"l": 12, "t": 18}},
    )
