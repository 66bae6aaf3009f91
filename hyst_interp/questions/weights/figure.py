"""What each group of weights moves of the gap: one at a time beside all but one, families first, then every group.

A group moved alone into one history is the last to go into the other, so the right panel mirrors the left one about the
gap, with the directions exchanged: a group far from 0 on the left is as far from the gap's line on the right.
"""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.analysis.rows import share_text
from hyst_interp.analysis.summary import cell
from hyst_interp.plots.intervals import limits, whiskers
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import ABOVE, BELOW, DIFFERENCE, FAINT, INK, PAPER, QUIET, SMALL, rgba, themed

PANELS = {
    "one at a time": ("logits_moved", "into_below", "into_above"),
    "all but one": ("all_but_moved", "all_but_into_below", "all_but_into_above"),
}
"""Panel → mean of both directions, into below, into above."""
HEADINGS = {"family": "kinds of weights", "group": "every group"}
ROW, HEADING, TOP, BOTTOM, BETWEEN = 18, 28, 116, 56, 96
"""Heights in pixels."""


def weight_move_dots(table: xr.Dataset, gap: xr.Dataset, stacked: bool = False) -> go.Figure:
    """Logits that moving a group moves: a diamond with its interval for the mean of both directions, a dot for each.

    Args:
        table: `questions.weights.summary.weight_table`, dims (quantity, group): the quantities of `PANELS`, and the
            `share` of the gap, printed at the right; `group` has the coordinates `partition` (`family` or `group`) and
            `family` (`sum`: directions are not drawn).
        gap: `estimate`, `low`, `high` without dims.
        stacked: panels one below the other instead of side by side; the shares are left out.
    """
    order, places, headings, depth = _places([str(level) for level in table["partition"].values])
    rows = table.isel(group=order)
    plot = 2 * depth + BETWEEN if stacked else depth
    figure = themed("Moving weights between the histories", height=int(TOP + BOTTOM + plot))
    n = len(PANELS)
    xs = [(0.0, 1.0)] * n if stacked else domains(n, 0.03)
    ys = domains(n, BETWEEN / plot)[::-1] if stacked else [(0.0, 1.0)] * n
    for index, (heading, quantities) in enumerate(PANELS.items()):
        _draw(figure, index, rows.sel(quantity=list(quantities)), gap, places)
        named = stacked or index == 0
        set_panel(
            figure,
            index,
            xs[index],
            ys[index],
            heading,
            x_axis={"title": {"text": "logits moved"}, "zeroline": True, "zerolinecolor": QUIET},
            y_axis={
                "range": [depth, 0],
                "tickvals": places,
                "ticktext": _labels(rows, quantities[0]) if named else [""] * len(places),
                "ticks": "",
                "ticklabelstandoff": 8,
                "showline": False,
                "showgrid": True,
                "gridcolor": FAINT,
            },
        )
        for level, height in headings.items() if named else ():
            figure.add_annotation(
                text=f"<b>{HEADINGS[level]}</b>",
                x=xs[index][0],
                xref="paper",
                y=height,
                yref=axis_names(index)[1],
                xanchor="right",
                yanchor="middle",
                xshift=-8,
                font={"size": SMALL, "color": QUIET},
            )
    if not stacked:
        _shares(figure, rows, places)
    return figure.update_layout(
        margin={"l": 128, "r": 16 if stacked else 168, "t": TOP, "b": BOTTOM},
        title={"y": 1, "yanchor": "top"},
        legend={"y": 1 + 26 / plot},
    )


def _labels(rows: xr.Dataset, quantity: str) -> list[str]:
    """Names of the rows that have a point; nobody moves all but the sum."""
    known = np.isfinite(rows["estimate"].sel(quantity=quantity).values)
    return [str(name) if there else "" for name, there in zip(rows["group"].values, known, strict=True)]


def _places(levels: list[str]) -> tuple[list[int], list[float], dict[str, float], float]:
    """Rows in the order of `HEADINGS`, their heights in pixels from the top, the headings' heights, and the whole."""
    order, places, headings, at = [], [], {}, 0.0
    for level in HEADINGS:
        members = [index for index, row_level in enumerate(levels) if row_level == level]
        if members:
            headings[level] = at + HEADING / 2
            at += HEADING
        for index in members:
            order.append(index)
            places.append(at + ROW / 2)
            at += ROW
    return order, places, headings, at + 4


def _draw(figure: go.Figure, index: int, rows: xr.Dataset, gap: xr.Dataset, places: list[float]) -> None:
    x_name, y_name = axis_names(index)
    where = {"xaxis": x_name, "yaxis": y_name}
    mean, into_below, into_above = (rows.isel(quantity=i) for i in range(3))
    gap_point = [float(gap["estimate"])]
    single = rows["family"].values != "sum"
    points = np.concatenate([rows["estimate"].values[:, single].ravel(), mean["estimate"].values, gap_point])
    low, high = limits(points, [mean["low"].values, mean["high"].values], 0.4)
    _mark_gap(figure, gap, x_name, y_name)
    names = [str(name) for name in rows["group"].values]
    for direction, colour, label in (
        (into_below, BELOW, "from above into below"),
        (into_above, ABOVE, "from below into above"),
    ):
        figure.add_trace(
            go.Scatter(
                x=np.where(single, direction["estimate"].values, np.nan),
                y=places,
                mode="markers",
                marker={"size": 6, "color": rgba(colour, 0.75), "line": {"width": 0}},
                name=label,
                legendgroup=label,
                showlegend=index == 0,
                text=names,
                hovertemplate=f"%{{text}}: %{{x:+.4f}}<extra>{label}</extra>",
                **where,
            )
        )
    for trace in whiskers(mean["low"].values, mean["high"].values, places, INK, (low, high)):
        figure.add_trace(trace.update(where))
    figure.add_trace(
        go.Scatter(
            x=mean["estimate"].values,
            y=places,
            mode="markers",
            marker={"size": 8, "symbol": "diamond", "color": INK, "line": {"color": PAPER, "width": 1}},
            name="mean of both, with interval",
            legendgroup="mean",
            showlegend=index == 0,
            text=names,
            hovertemplate="%{text}: %{x:+.4f}<extra>mean of both directions</extra>",
            **where,
        )
    )
    figure.update_layout({"xaxis" if index == 0 else f"xaxis{index + 1}": {"range": [low, high]}})


def _mark_gap(figure: go.Figure, gap: xr.Dataset, x_name: str, y_name: str) -> None:
    estimate, low, high = (float(gap[name]) for name in ("estimate", "low", "high"))
    where = {"xref": x_name, "yref": f"{y_name} domain", "y0": 0, "y1": 1, "layer": "below"}
    if np.isfinite(low) and np.isfinite(high):
        figure.add_shape(type="rect", x0=low, x1=high, fillcolor=rgba(DIFFERENCE, 0.08), line={"width": 0}, **where)
    if np.isfinite(estimate):
        line = {"color": DIFFERENCE, "width": 1.6, "dash": "dash"}
        figure.add_shape(type="line", x0=estimate, x1=estimate, line=line, **where)
        figure.add_annotation(
            text="the gap",
            x=estimate,
            y=1,
            xref=x_name,
            yref=f"{y_name} domain",
            yanchor="top",
            xanchor="left",
            xshift=4,
            font={"size": SMALL, "color": DIFFERENCE},
        )


def _shares(figure: go.Figure, rows: xr.Dataset, places: list[float]) -> None:
    """The share of the gap that each group moves alone, at the right of the last panel."""
    x_shift = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 10}
    for place, index in zip(places, range(rows.sizes["group"]), strict=True):
        share = cell(rows.isel(group=index), quantity="share")
        font = {"size": SMALL, "color": QUIET if share.estimate is None else INK}
        figure.add_annotation(text=share_text(share), y=place, yref="y", yanchor="middle", font=font, **x_shift)
    figure.add_annotation(
        text="share of the gap,<br>one at a time",
        y=1,
        yref="paper",
        yanchor="bottom",
        yshift=4,
        align="left",
        font={"size": SMALL, "color": QUIET},
        **x_shift,
    )
