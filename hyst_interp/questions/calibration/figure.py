"""The specification curve of the calibration: the gap in every schedule of the grid, sorted, with what was chosen."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.intervals import limits, whiskers
from hyst_interp.plots.panels import axis_names, set_panel
from hyst_interp.plots.theme import DIFFERENCE, FAINT, INK, PAPER, QUIET, SMALL, rgba, themed
from hyst_interp.questions.calibration.summary import CHOICES, SIGNS, specification

FIRST, CURVE, CELL, BETWEEN, TOP, BOTTOM = 230, 150, 17, 44, 96, 40
"""Heights in pixels: the gaps on arrival, later ones, a row of the choices, a heading, above and below all."""
WORDS = {"delta": "δ", "levels": "levels", "dwell": "dwell", "shape": "shape"}


def specification_curve(dataset: xr.Dataset, stacked: bool = False) -> go.Figure:
    """Gaps of every cell of the calibration grid, sorted by the mean on arrival, above the choices that make a cell.

    A filled point holds the paper's sign by its interval, an open one does not; the chosen cell is marked by a line.

    Args:
        dataset: the grid as `questions.calibration.summary.specification` takes it.
        stacked: for narrow columns: smaller type on the rows of choices.
    """
    curve = specification(dataset)
    holds = [int(hold) for hold in curve["hold"].values]
    rows = _rows(curve)
    heights = [*(CURVE if hold else FIRST for hold in holds), CELL * len(rows)]
    depth = sum(heights) + BETWEEN * len(holds)
    figure = themed("The gap in every schedule of the calibration grid", height=depth + TOP + BOTTOM)
    cells = np.arange(curve.sizes["cell"])
    texts = [_cell_text(curve, cell) for cell in range(len(cells))]
    top = 1.0
    for index, height in enumerate(heights):
        bottom = max(top - height / depth, 0.0)
        if index < len(holds):
            _curve(figure, index, curve.sel(hold=holds[index]), holds[index], texts, (bottom, top))
        else:
            _choices(figure, index, curve, rows, (bottom, top), stacked)
        top = bottom - BETWEEN / depth
    _mark_chosen(figure, curve, len(heights))
    return figure.update_layout(margin={"t": TOP, "b": BOTTOM, "l": 86}, legend={"y": 1 + 24 / depth})


def _curve(
    figure: go.Figure, index: int, gaps: xr.Dataset, hold: int, texts: list[str], place: tuple[float, float]
) -> None:
    x_name, y_name = axis_names(index)
    cells = np.arange(gaps.sizes["cell"])
    low, high = limits(gaps["estimate"].values, [gaps["low"].values, gaps["high"].values], 0.75)
    for trace in whiskers(gaps["low"].values, gaps["high"].values, cells, DIFFERENCE, (low, high), vertical=True):
        figure.add_trace(trace.update(xaxis=x_name, yaxis=y_name))
    for holds, name in ((True, "the paper's sign holds by its interval"), (False, "it does not")):
        some = gaps["holds"].values == holds
        marker = {"size": 6, "color": DIFFERENCE if holds else PAPER, "line": {"color": DIFFERENCE, "width": 1.4}}
        figure.add_trace(
            go.Scatter(
                x=cells[some],
                y=gaps["estimate"].values[some],
                mode="markers",
                marker=marker,
                name=name,
                legendgroup=name,
                showlegend=index == 0,
                xaxis=x_name,
                yaxis=y_name,
                text=[texts[i] for i in cells[some]],
                hovertemplate=f"%{{text}}<br>gap %{{y:+.3f}}<extra>hold {hold}</extra>",
            )
        )
    where = "on arrival" if hold == 0 else f"after {hold} shared updates"
    axis = {"range": [-1, len(cells)], "showticklabels": False, "ticks": "", "showline": False}
    zero = {"zeroline": True, "zerolinecolor": QUIET, "zerolinewidth": 1}
    y_axis = {"title": {"text": "gap, logits"}, "range": [low, high], "nticks": 5, **zero}
    heading = f"{where} (the paper: {SIGNS[hold]})"
    set_panel(figure, index, (0.0, 1.0), place, heading, x_axis=axis, y_axis=y_axis)


def _rows(curve: xr.Dataset) -> list[tuple[str, object]]:
    """Every value of every choice that varies or not, one row each."""
    return [
        (name, value)
        for name in CHOICES
        if name in curve.coords
        for value in sorted(set(curve[name].values.tolist()), key=lambda choice: (isinstance(choice, str), choice))
    ]


def _choices(
    figure: go.Figure, index: int, curve: xr.Dataset, rows: list, place: tuple[float, float], stacked: bool
) -> None:
    x_name, y_name = axis_names(index)
    columns, lines, chosen = [], [], []
    for line, (name, value) in enumerate(rows):
        having = np.flatnonzero(curve[name].values == value)
        columns.extend(having.tolist())
        lines.extend([line] * len(having))
        chosen.extend(curve["chosen"].values[having].astype(bool).tolist())
    figure.add_trace(
        go.Scatter(
            x=columns,
            y=lines,
            mode="markers",
            marker={
                "symbol": "square",
                "size": 5 if stacked else 7,
                "color": [INK if c else "#9AA1A9" for c in chosen],
            },
            showlegend=False,
            name="choice",
            xaxis=x_name,
            yaxis=y_name,
            text=[f"{WORDS[name]} {value}" for line in lines for name, value in [rows[line]]],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    labels = [f"{WORDS[name]} {value}" if name != "shape" else str(value) for name, value in rows]
    set_panel(
        figure,
        index,
        (0.0, 1.0),
        place,
        "the schedule",
        x_axis={
            "range": [-1, curve.sizes["cell"]],
            "showticklabels": False,
            "ticks": "",
            "title": {"text": "schedules, sorted by the mean gap on arrival"},
        },
        y_axis={
            "range": [len(rows) - 0.4, -0.6],
            "tickvals": list(range(len(rows))),
            "ticktext": labels,
            "ticks": "",
            "showline": False,
            "showgrid": True,
            "gridcolor": FAINT,
            "tickfont": {"size": SMALL - 1},
        },
    )


def _mark_chosen(figure: go.Figure, curve: xr.Dataset, panels: int) -> None:
    for cell in np.flatnonzero(curve["chosen"].values.astype(bool)):
        for index in range(panels):
            x_name, y_name = axis_names(index)
            figure.add_shape(
                type="rect",
                xref=x_name,
                yref=f"{y_name} domain",
                x0=int(cell) - 0.5,
                x1=int(cell) + 0.5,
                y0=0,
                y1=1,
                fillcolor=rgba(DIFFERENCE, 0.13),
                line={"width": 0},
                layer="below",
            )
        figure.add_annotation(
            text="chosen",
            x=int(cell),
            y=0.99,
            xref="x",
            yref="y domain",
            yanchor="top",
            xanchor="left" if cell < curve.sizes["cell"] / 2 else "right",
            xshift=6 if cell < curve.sizes["cell"] / 2 else -6,
            font={"size": SMALL, "color": DIFFERENCE},
        )


def _cell_text(curve: xr.Dataset, cell: int) -> str:
    return ", ".join(f"{WORDS[name]} {curve[name].values[cell]}" for name in CHOICES if name in curve.coords)
