"""Mean or information, three panels on the same rows: the parts in logits, how far replacements lead, whom to trust.

The first panel shows one estimator's parts, each with its interval; the second how far every replacement takes the
networks from where they were, on a logarithmic axis with the bound beyond which nothing is trusted; the third a full
dot for every estimator that the rule trusts, whose reason for any other shows on hover.
"""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.intervals import limits, whiskers
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import DIFFERENCE, FAINT, INK, PAPER, QUIET, SMALL, themed
from hyst_interp.questions.information.summary import DIVERGENCE
from hyst_interp.references import ANCHOR_MEAN, OWN_MEAN, POOLED_MEAN
from hyst_interp.sites import JOINT_SETS, is_joined
from hyst_interp.verdicts import Verdict

PARTS = {
    "whole": ("whole", INK, "diamond"),
    "mean": ("mean part", "#946C00", "square"),
    "information": ("input-dependent part", "#00777A", "circle"),
    "remainder": ("remainder", QUIET, "x"),
}
"""Quantity → name, colour, symbol."""
LOOKS = {
    "whole": ("the other’s, whole", INK, "diamond"),
    "mean": ("the other’s mean part", "#946C00", "square"),
    "information": ("the other’s input-dependent part", "#00777A", "circle"),
    OWN_MEAN.name: ("own mean", "#A3261F", "triangle-left"),
    "other-mean": ("other’s mean", "#C25407", "triangle-right"),
    POOLED_MEAN.name: ("pooled mean", DIFFERENCE, "triangle-up"),
    ANCHOR_MEAN.name: ("anchor’s mean", "#4D4D4D", "triangle-down"),
}
"""Replacement → name, colour, symbol."""
GLYPHS = {
    "diamond": "◆",
    "square": "■",
    "circle": "●",
    "x": "✕",
    "triangle-left": "◀",
    "triangle-right": "▶",
    "triangle-up": "▲",
    "triangle-down": "▼",
}
TRUSTED = "#1F7A54"
ROW, TOP, BOTTOM, BETWEEN, FLOOR = 36, 140, 56, 130, 1e-6
"""Heights in pixels: a row, everything above the panels and below, between stacked panels; least divergence drawn."""
WIDTHS = ((0.0, 0.46), (0.495, 0.8), (0.835, 1.0))


def information_dots(
    parts: xr.Dataset, distances: xr.Dataset, estimator: str = "parts moved", stacked: bool = False
) -> go.Figure:
    """Parts of every component by one estimator, distances of every replacement, and verdicts of every estimator.

    Args:
        parts: the table `summary.by_estimator`.
        distances: the table `summary.by_replacement`.
        stacked: panels one below the other instead of side by side.
    """
    names = [str(name) for name in parts["components"].values]
    places, depth = _places(names)
    plot = 3 * depth + 2 * BETWEEN if stacked else depth
    figure = themed(f"Mean or information ({estimator})", height=int(TOP + BOTTOM + plot))
    xs = [(0.0, 1.0)] * 3 if stacked else WIDTHS
    ys = domains(3, BETWEEN / plot)[::-1] if stacked else [(0.0, 1.0)] * 3
    axes = (
        _draw_parts(figure, parts.sel(estimator=estimator), names, places),
        _draw_distances(figure, distances, places),
    )
    heads = (
        ("logits of the gap", PARTS),
        ("how far from where it was", {name: LOOKS[str(name)] for name in distances["replacement"].values}),
    )
    for index, x_axis in enumerate((*axes, _draw_verdicts(figure, parts, places))):
        y_axis = {
            "range": [depth, 0],
            "tickvals": places,
            "ticktext": names if stacked or index == 0 else [""] * len(names),
            "ticks": "",
            "ticklabelstandoff": 8,
            "showline": False,
            "showgrid": True,
            "gridcolor": FAINT,
        }
        set_panel(figure, index, xs[index], ys[index], x_axis=x_axis, y_axis=y_axis)
        heading, looks = heads[index] if index < 2 else ("can it be trusted?", {})
        per_line = 2 if stacked or index == 0 else 1 if len(looks) <= 4 else 2
        words = _legend(heading, looks, per_line)
        if index == 2:
            words += f'<br><span style="color:{TRUSTED}">● trusted</span>   <span style="color:{QUIET}">○ not</span>'
        figure.add_annotation(
            text=words,
            x=xs[index][0],
            y=ys[index][1],
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="bottom",
            yshift=6,
            align="left",
            font={"size": SMALL},
        )
    return figure.update_layout(
        margin={"l": 74, "r": 16, "t": TOP, "b": BOTTOM + 40}, title={"y": 1, "yanchor": "top"}, showlegend=False
    ).update_layout(height=int(TOP + BOTTOM + 40 + plot))


def _places(names: list[str]) -> tuple[list[float], float]:
    """Heights of the rows in pixels from the top, joint sets a little apart, and the whole."""
    places, at, before = [], 0.0, False
    for name in names:
        joint = name in JOINT_SETS or is_joined(name)
        at += ROW / 2 if joint and not before and places else 0
        places.append(at + ROW / 2)
        at, before = at + ROW, joint
    return places, at


def _legend(heading: str, looks: dict, per_line: int) -> str:
    entries = [
        f'<span style="color:{colour}">{GLYPHS[symbol]} {name}</span>' for name, colour, symbol in looks.values()
    ]
    lines = ["   ".join(entries[i : i + per_line]) for i in range(0, len(entries), per_line)]
    return "<br>".join([f"<b>{heading}</b>", *lines])


def _draw_parts(figure: go.Figure, parts: xr.Dataset, names: list[str], places: list[float]) -> dict:
    where = dict(zip(("xaxis", "yaxis"), axis_names(0), strict=True))
    parts = parts.sel(quantity=list(PARTS))  # logits; shares have no place on this axis
    low, high = limits(parts["estimate"].values, [parts["low"].values, parts["high"].values], 0.3)
    for offset, (quantity, (label, colour, symbol)) in zip((-0.27, -0.09, 0.09, 0.27), PARTS.items(), strict=True):
        part = parts.sel(quantity=quantity)
        at = [place + offset * ROW for place in places]
        for trace in whiskers(part["low"].values, part["high"].values, at, colour, (low, high), opacity=0.5):
            figure.add_trace(trace.update(where))
        figure.add_trace(
            go.Scatter(
                x=part["estimate"].values,
                y=at,
                mode="markers",
                marker={"size": 7, "symbol": symbol, "color": colour, "line": {"color": PAPER, "width": 0.5}},
                name=label,
                text=names,
                customdata=np.stack([part["low"].values, part["high"].values], -1),
                hovertemplate="%{text}: %{x:+.4f} [%{customdata[0]:+.4f}, %{customdata[1]:+.4f}]"
                f"<extra>{label}</extra>",
                **where,
            )
        )
    title = {"title": {"text": "logits moved"}, "zeroline": True, "zerolinecolor": QUIET}
    return {**title, "range": [low, high]}


def _draw_distances(figure: go.Figure, distances: xr.Dataset, places: list[float]) -> dict:
    x_name, y_name = axis_names(1)
    far = distances.sel(quantity="divergence")["estimate"]
    lost = distances.sel(quantity="mass_lost")["estimate"]
    names = [str(name) for name in distances["components"].values]
    shown = [str(name) for name in far["replacement"].values]
    offsets = _apart([name for name in shown if name in PARTS]) | _apart([name for name in shown if name not in PARTS])
    for replacement, offset in offsets.items():
        label, colour, symbol = LOOKS[replacement]
        value = far.sel(replacement=replacement).values
        figure.add_trace(
            go.Scatter(
                x=np.maximum(value, FLOOR),
                y=[place + offset * ROW for place in places],
                mode="markers",
                marker={"size": 7, "symbol": symbol, "color": colour},
                name=label,
                text=names,
                customdata=np.stack([value, lost.sel(replacement=replacement).values], -1),
                hovertemplate="%{text}: KL %{customdata[0]:.2g} nats, answer mass lost %{customdata[1]:+.3f}"
                f"<extra>{label}</extra>",
                xaxis=x_name,
                yaxis=y_name,
            )
        )
    line = {"color": QUIET, "width": 1, "dash": "dash"}
    figure.add_shape(
        type="line",
        x0=DIVERGENCE,
        x1=DIVERGENCE,
        y0=0,
        y1=1,
        xref=x_name,
        yref=f"{y_name} domain",
        line=line,
        layer="below",
    )
    ends = np.log10(np.maximum(far.values, FLOOR))
    reach = [float(np.nanmin(ends)) - 0.2, max(float(np.nanmax(ends)), float(np.log10(DIVERGENCE))) + 0.2]
    decades = range(int(np.ceil(reach[0])), int(np.floor(reach[1])) + 1)
    return {
        "title": {"text": "KL before ‖ after, nats"},
        "type": "log",
        "range": reach,
        "tickvals": [10.0**exponent for exponent in decades],
        "ticktext": [_power(exponent) for exponent in decades],
    }


def _apart(names: list[str]) -> dict[str, float]:
    """Shares of a row's height around its middle: the parts, and the means, each lie close together."""
    return dict(zip(names, np.linspace(-0.33, 0.33, len(names)).tolist(), strict=True))


def _power(exponent: int) -> str:
    digits = str(abs(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return "1" if exponent == 0 else f"10{'⁻' if exponent < 0 else ''}{digits}"


def _draw_verdicts(figure: go.Figure, parts: xr.Dataset, places: list[float]) -> dict:
    x_name, y_name = axis_names(2)
    estimators = [str(name) for name in parts["estimator"].values]
    for column, estimator in enumerate(estimators):
        judged = parts.sel(estimator=estimator)
        trusted = [str(word) == Verdict.TRUSTED for word in judged["verdict"].values]
        reasons = [str(text) or "every condition holds" for text in judged["failure"].values]
        figure.add_trace(
            go.Scatter(
                x=[column] * len(places),
                y=places,
                mode="markers",
                marker={
                    "size": 10,
                    "symbol": ["circle" if good else "circle-open" for good in trusted],
                    "color": [TRUSTED if good else QUIET for good in trusted],
                },
                name=estimator,
                text=[f"{name}: {reason}" for name, reason in zip(judged["components"].values, reasons, strict=True)],
                hovertemplate=f"%{{text}}<extra>{estimator}</extra>",
                xaxis=x_name,
                yaxis=y_name,
            )
        )
    return {
        "tickvals": list(range(len(estimators))),
        "ticktext": estimators,
        "tickangle": -40,
        "range": [-0.6, len(estimators) - 0.4],
        "ticks": "",
        "showline": False,
    }
