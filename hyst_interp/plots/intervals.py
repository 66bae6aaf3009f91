"""How intervals are drawn: limits that let no wide interval squash the numbers, and whiskers that say so.

With two seeds an interval may be fifty times as wide as the effect. The axis then shows every number, and an interval
that goes on beyond it ends in an arrow head.
"""

import numpy as np
import plotly.graph_objects as go

from hyst_interp.plots.theme import rgba


def limits(points, ends, reach: float = 0.75) -> tuple[float, float]:
    """Axis limits that hold every point and 0, and interval ends as far as `reach` times the points' spread beyond.

    NaN is left out.
    """
    values = np.concatenate([np.ravel(points), [0.0]])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    size = max(high - low, 1e-6)
    known = np.ravel(ends)
    known = known[np.isfinite(known)]
    if known.size:
        low, high = max(min(low, known.min()), low - reach * size), min(max(high, known.max()), high + reach * size)
    room = 0.05 * (high - low)
    return float(low - room), float(high + room)


def whiskers(
    low, high, places, colour: str, within: tuple[float, float], vertical: bool = False, opacity: float = 0.6
) -> list[go.Scatter]:
    """Lines from `low` to `high` at `places` on the other axis, cut at `within` with an arrow head; NaN is left out."""
    along: list[float | None] = []
    across: list[float | None] = []
    heads: list[tuple[float, float, str]] = []
    names = ("triangle-down", "triangle-up") if vertical else ("triangle-left", "triangle-right")
    inset = 0.01 * (within[1] - within[0])
    for start, end, place in zip(np.ravel(low), np.ravel(high), np.ravel(places), strict=True):
        if not (np.isfinite(start) and np.isfinite(end)):
            continue
        along.extend([max(float(start), within[0]), min(float(end), within[1]), None])
        across.extend([float(place), float(place), None])
        heads.extend([(within[0] + inset, float(place), names[0])] if start < within[0] else [])
        heads.extend([(within[1] - inset, float(place), names[1])] if end > within[1] else [])
    quiet = {"hoverinfo": "skip", "showlegend": False}
    line = {"color": rgba(colour, opacity), "width": 1.6}
    traces = [go.Scatter(**_turned(along, across, vertical), mode="lines", line=line, name="interval", **quiet)]
    if heads:
        marker = {"symbol": [head[2] for head in heads], "size": 8, "color": colour, "opacity": 1}
        ends = _turned([head[0] for head in heads], [head[1] for head in heads], vertical)
        traces.append(go.Scatter(**ends, mode="markers", marker=marker, name="interval goes on", **quiet))
    return traces


def _turned(along: list, across: list, vertical: bool) -> dict[str, list]:
    return {"x": across, "y": along} if vertical else {"x": along, "y": across}
