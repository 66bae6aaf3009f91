"""Same circuit, how strongly engaged: similarity up, gain across, a panel a site.

A point high up shares its cells with what it is compared with; a point away from gain 1 engages them more or less
strongly. The shaded strip is what the seeds could not have told from 1.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import DIFFERENCE, FAINT, INK, PAPER, QUIET, SMALL, rgba, themed
from hyst_interp.questions.similarity.figure import KINDS, TICKS, place_name
from hyst_interp.statistics import Estimate


def circuit_and_gain(
    points: Sequence[xr.Dataset], gains: Sequence[Estimate], unseen: Sequence[float | None], stacked: bool = False
) -> go.Figure:
    """1 − r on a logarithmic axis (upwards: more alike) against gain, with the mean gain and its interval.

    Args:
        points: one Dataset a site, `unlike` and `gain`, dims (kind, seed, comparison), with `attrs["site"]`.
        gains: for each, the histories' gain.
        unseen: for each, the smallest |gain − 1| that would have been seen, or None.
        stacked: panels one below the other instead of side by side.
    """
    n = len(points)
    figure = themed("Same circuit, how strongly engaged?", height=190 + 290 * n if stacked else 460)
    xs, ys = ([(0.0, 1.0)] * n, domains(n, 0.16)[::-1]) if stacked else (domains(n, 0.1), [(0.0, 1.0)] * n)
    for index, (site_points, gain, blind) in enumerate(zip(points, gains, unseen, strict=True)):
        x_name, y_name = axis_names(index)
        top, bottom = _range(site_points["unlike"].values)
        for kind in ("floor", "ceiling", "histories"):
            name, colour, symbol, size = KINDS[kind]
            cells = site_points.sel(kind=kind).transpose("seed", "comparison")
            seeds = np.repeat(site_points["seed"].values, cells.sizes["comparison"])
            known = np.isfinite(cells["unlike"].values.ravel())
            unlike, slopes = cells["unlike"].values.ravel()[known], cells["gain"].values.ravel()[known]
            figure.add_trace(
                go.Scatter(
                    x=slopes,
                    y=unlike,
                    mode="markers",
                    marker={"symbol": symbol, "size": size - 1, "color": rgba(colour, 0.6)},
                    name=name,
                    legendgroup=kind,
                    showlegend=index == 0,
                    xaxis=x_name,
                    yaxis=y_name,
                    text=[
                        f"seed {seed}: gain {slope:.3f}, r = {1 - value:.6f}"
                        for seed, slope, value in zip(seeds[known], slopes, unlike, strict=True)
                    ],
                    hovertemplate=f"%{{text}}<extra>{name}</extra>",
                )
            )
        figure.add_trace(_mean(gain, 10 ** (bottom + 0.06 * (top - bottom)), index))
        if blind is not None:
            _strip(figure, blind, x_name, y_name)
        last = not stacked or index == n - 1
        set_panel(
            figure,
            index,
            xs[index],
            ys[index],
            place_name(site_points.attrs).replace("<br>", " "),
            x_axis={
                "title": {"text": "gain: slope of the raw map" if last else ""},
                "range": _reach(site_points, gain, blind),
            },
            y_axis={
                "type": "log",
                "range": [bottom, top],
                "tickvals": list(TICKS),
                "ticktext": list(TICKS.values()),
                "showgrid": True,
                "gridcolor": FAINT,
                "title": {"text": "Pearson r" if index == 0 or stacked else ""},
            },
        )
        figure.add_shape(
            type="line",
            xref=x_name,
            yref=f"{y_name} domain",
            x0=1,
            x1=1,
            y0=0,
            y1=1,
            line={"color": QUIET, "width": 1},
            layer="below",
        )
    return figure.update_layout(
        margin={"t": 148 if stacked else 112, "l": 76},
        legend={"orientation": "v" if stacked else "h", "y": 1.0 + (0.05 if stacked else 0.09)},
    )


def _mean(gain: Estimate, height: float, index: int) -> go.Scatter:
    """The histories' mean gain with its interval, near the panel's foot."""
    x_name, y_name = axis_names(index)
    arms = None
    if gain.estimate is not None and gain.low is not None and gain.high is not None:
        lengths = {"array": [gain.high - gain.estimate], "arrayminus": [gain.estimate - gain.low]}
        arms = lengths | {"color": INK, "thickness": 1.6, "width": 5}
    return go.Scatter(
        x=[gain.estimate],
        y=[height],
        mode="markers",
        marker={"symbol": "diamond", "size": 9, "color": INK, "line": {"color": PAPER, "width": 1}},
        error_x=arms,
        name="mean gain of the histories, with interval",
        legendgroup="mean",
        showlegend=index == 0,
        xaxis=x_name,
        yaxis=y_name,
        hovertemplate="mean gain: %{x:.4f}<extra></extra>",
    )


def _strip(figure: go.Figure, blind: float, x_name: str, y_name: str) -> None:
    figure.add_shape(
        type="rect",
        xref=x_name,
        yref=f"{y_name} domain",
        x0=1 - blind,
        x1=1 + blind,
        y0=0,
        y1=1,
        fillcolor=rgba(DIFFERENCE, 0.09),
        line={"width": 0},
        layer="below",
    )
    figure.add_annotation(
        text=f"too small to see: ±{blind:.2g}",
        x=1,
        y=0.985,
        xref=x_name,
        yref=f"{y_name} domain",
        yanchor="top",
        font={"size": SMALL, "color": QUIET},
        bgcolor=rgba(PAPER, 0.75),
    )


def _range(unlike: np.ndarray) -> tuple[float, float]:
    """Ends of the logarithmic axis: the most alike, then the least."""
    known = unlike[np.isfinite(unlike)]
    if not known.size:
        return -4.0, 0.0
    return float(np.log10(known.min())) - 0.5, float(np.log10(known.max())) + 0.35


def _reach(points: xr.Dataset, gain: Estimate, blind: float | None) -> list[float]:
    """Limits around 1 that hold histories, siblings, strip, and interval; other seeds as far as four times that."""
    kinds = [kind for kind in points["kind"].values if kind != "floor"]
    near = np.abs(points["gain"].sel(kind=kinds).values - 1)
    inner = max([*near[np.isfinite(near)].tolist(), 1.1 * (blind or 0.0), 0.01])
    ends = [abs(end - 1) for end in (gain.low, gain.high) if end is not None]
    inner = max(inner, min(max(ends, default=0.0), 4 * inner))
    far = np.abs(points["gain"].values - 1)
    far = far[np.isfinite(far)]
    outer = min(max(float(far.max()) if far.size else inner, inner), 4 * inner)
    return [1 - 1.15 * outer, 1 + 1.15 * outer]
