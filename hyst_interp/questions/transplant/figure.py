"""The gap after a transplant, a panel a question: weights or optimizer, which moment, and what the weights carry alone.

The axis of updates is logarithmic in 1 + updates, so that 0, where only the weights speak, is on the picture.
"""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.band import band_traces
from hyst_interp.plots.intervals import limits
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import DIFFERENCE, QUIET, rgba, themed

WEIGHTS, OPTIMIZER, SECOND = "#1F7A54", "#A3261F", "#946C00"
"""Colour of what the weights carry, of what the optimizer (and its first moment) does, and of its second moment."""
SHARED = "#00777A"
Look = tuple[str, str, str, str]
"""Name, colour, dash, and symbol of a curve."""
GLYPHS = {"circle": "●", "square": "■", "diamond": "◆", "x": "✕", "triangle-up": "▲", "triangle-down": "▼"}
PANELS: dict[str, dict[str, Look]] = {
    "Weights or optimizer?": {
        "gap": ("gap", DIFFERENCE, "solid", "circle"),
        "weights": ("weights", WEIGHTS, "solid", "square"),
        "optimizer": ("optimizer", OPTIMIZER, "solid", "diamond"),
        "interaction": ("interaction", QUIET, "dot", "x"),
    },
    "Which moment?": {
        "optimizer": ("optimizer", OPTIMIZER, "solid", "diamond"),
        "moments: first moment": ("first moment", "#D9822B", "dash", "triangle-up"),
        "moments: second moment": ("second moment", SECOND, "dot", "triangle-down"),
    },
    "The same optimizer state in both": {
        "gap": ("each its own", DIFFERENCE, "solid", "circle"),
        "shared: anchor": ("the anchor’s", "#4D4D4D", "dash", "square"),
        "shared: reset": ("reset, age 0", SHARED, "solid", "diamond"),
        "shared: zeroed": ("zeroed, age kept", SECOND, "dot", "x"),
    },
}
"""Panel → quantity → how its curve looks."""
PLOT, SIDE, TOP, BOTTOM = 300, 60, 44, 50
"""Height of a panel, of its heading with the names under it, and of the margins, in pixels."""


def transplant_course(curves: xr.DataArray, table: xr.Dataset, stacked: bool = False) -> go.Figure:
    """Parts of the gap over updates after the transplant: a line and its band each, and the gap of every seed thin.

    Args:
        curves: dims (quantity, update, seed or trial), logits; seeds are drawn, trials are not.
        table: `estimate`, `low`, `high`, dims (quantity, update), with the quantities of `PANELS`.
        stacked: panels one below the other instead of side by side.
    """
    n = len(PANELS)
    plot = n * PLOT + (n - 1) * (SIDE + 70) if stacked else PLOT
    figure = themed("The gap after exchanging optimizer states, held at p0", height=plot + TOP + SIDE + BOTTOM)
    xs, ys = (
        ([(0.0, 1.0)] * n, domains(n, (SIDE + 70) / plot)[::-1]) if stacked else (domains(n, 0.07), [(0.0, 1.0)] * n)
    )
    updates = table["update"].values
    x = np.log1p(updates)
    shown = _ticks(x)
    for index, (heading, lines) in enumerate(PANELS.items()):
        names = list(lines)
        reach = [table[end].sel(quantity=names).values for end in ("low", "high")]
        ends = limits(_points(curves, table, names), reach, 0.3)
        for quantity, look in lines.items():
            _draw(figure, index, x, curves.sel(quantity=quantity), table.sel(quantity=quantity), look)
        set_panel(
            figure,
            index,
            xs[index],
            ys[index],
            "",
            x_axis={
                "title": {"text": "updates after the transplant" if stacked or index == 1 else ""},
                "tickvals": list(x[shown]),
                "ticktext": [str(int(update)) for update in updates[shown]],
                "range": [x[0] - 0.04 * (x[-1] - x[0] or 1), x[-1] + 0.04 * (x[-1] - x[0] or 1)],
            },
            y_axis={
                "title": {"text": "logits" if stacked or index == 0 else ""},
                "range": list(ends),
                "zeroline": True,
                "zerolinecolor": QUIET,
                "zerolinewidth": 1,
            },
        )
        _head(figure, heading, lines, xs[index][0], ys[index][1])
    return figure.update_layout(margin={"t": TOP + SIDE, "b": BOTTOM}, title={"y": 1, "yanchor": "top"})


def _points(curves: xr.DataArray, table: xr.Dataset, names: list[str]) -> np.ndarray:
    points = [table["estimate"].sel(quantity=names).values.ravel()]
    if "gap" in names and "seed" in curves.dims:
        points.append(curves.sel(quantity="gap").values.ravel())
    return np.concatenate(points)


def _ticks(x: np.ndarray, apart: float = 0.07) -> list[int]:
    """Indices of updates whose labels do not touch: at least `apart` of the axis from the one before."""
    shown: list[int] = []
    for index in range(len(x)):
        if not shown or x[index] - x[shown[-1]] >= apart * (x[-1] - x[0]):
            shown.append(index)
    return shown


def _draw(
    figure: go.Figure,
    index: int,
    x: np.ndarray,
    curve: xr.DataArray,
    band: xr.Dataset,
    look: Look,
) -> None:
    name, colour, dash, symbol = look
    x_name, y_name = axis_names(index)
    where = {"xaxis": x_name, "yaxis": y_name}
    figure.add_traces(band_traces(x, band["low"].values, band["high"].values, colour, **where))
    if str(curve["quantity"].values) == "gap" and "seed" in curve.dims and index == 0:
        for seed in curve["seed"].values:
            figure.add_trace(
                go.Scatter(
                    x=x,
                    y=curve.sel(seed=seed).values,
                    mode="lines",
                    line={"color": rgba(colour, 0.35), "width": 1},
                    name=f"seed {seed}",
                    showlegend=False,
                    customdata=band["update"].values,
                    hovertemplate=f"%{{customdata}} updates: %{{y:+.3f}}<extra>gap of seed {seed}</extra>",
                    **where,
                )
            )
    figure.add_trace(
        go.Scatter(
            x=x,
            y=band["estimate"].values,
            mode="lines+markers",
            line={"color": colour, "width": 2.2, "dash": dash},
            marker={"size": 7, "symbol": symbol, "color": colour},
            name=name,
            showlegend=False,
            customdata=band["update"].values,
            hovertemplate=f"%{{customdata}} updates: %{{y:+.4f}}<extra>{name}</extra>",
            **where,
        )
    )


def _head(figure: go.Figure, heading: str, lines: dict[str, Look], x: float, y: float) -> None:
    """The panel's question, and under it the names of its curves, two a line, in their colours."""
    names = [
        f'<span style="color:{colour}">{GLYPHS[symbol]} {name}</span>' for name, colour, _, symbol in lines.values()
    ]
    rows = ["   ".join(names[i : i + 2]) for i in range(0, len(names), 2)]
    figure.add_annotation(
        text="<br>".join([f"<b>{heading}</b>", *rows]),
        x=x,
        y=y,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        yshift=4,
        align="left",
    )
