"""The gap between the histories over time.

Two conventions of zero stand on one figure: τ counts updates since the last update away from p0, the paper's hold
counts from the end of the schedule. Below 0 the network lags; above 0 it overshoots, which is the opposite of lag.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.band import band_traces
from hyst_interp.plots.intervals import limits
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import DIFFERENCE, FAINT, INK, QUIET, SMALL, rgba, themed
from hyst_interp.questions.gap.gap_phases import SIGNS, Phase, relaxation_start

OVER, UNDER = "above 0: from below is more contextual", "below 0: from below is less contextual"


def gap_course(curve: xr.DataArray, band: xr.Dataset, stacked: bool = False, phases: Sequence[Phase] = ()) -> go.Figure:
    """The gap along the schedule, and again from the last update away from p0 on, on a scale of its own.

    Args:
        curve: dims (seed, position) in logits, with coordinates `tau` and `hold` (NaN where undefined) on `position`.
        band: `estimate`, `low`, `high` over seeds, dim (position,).
        stacked: panels one below the other instead of side by side.
        phases: named stretches of the mean, each shaded and named in the second panel.
    """
    start = relaxation_start(curve)
    figure = themed("The gap along the schedule, and as it relaxes", height=760 if stacked else 420)
    xs, ys = ([(0.0, 1.0)] * 2, domains(2, 0.22)[::-1]) if stacked else (domains(2, 0.1), [(0.0, 1.0)] * 2)
    late_curve, late_band = curve.isel(position=slice(start, None)), band.isel(position=slice(start, None))
    offset = _offset(late_curve)
    _draw(figure, 0, curve, band, 0)
    _draw(figure, 1, late_curve, late_band, offset)
    zero = {"zeroline": True, "zerolinecolor": QUIET, "zerolinewidth": 1}
    position = curve["position"].values
    set_panel(
        figure,
        0,
        xs[0],
        ys[0],
        "whole course",
        x_axis={"title": {"text": "position: updates since the fork"}, "range": [position[0], position[-1]]},
        y_axis={"title": {"text": "gap, logits"}, **zero},
    )
    late = late_curve["position"].values - offset
    ends = limits(
        np.concatenate([late_curve.values.ravel(), late_band["estimate"].values]),
        [late_band["low"].values, late_band["high"].values],
    )
    set_panel(
        figure,
        1,
        xs[1],
        ys[1],
        "",
        x_axis={"title": {"text": "τ: updates since the last update at p ≠ p0"}, "range": [late[0] - 2, late[-1] + 4]},
        y_axis={"title": {"text": "gap, logits" if stacked else ""}, "range": list(ends), **zero},
    )
    _name_phases(figure, phases, late_curve["position"].values, offset)
    _mark_holds(figure, late_curve, offset, xs[1], ys[1][1])
    for text, y, anchor in ((OVER, 0.99, "top"), (UNDER, 0.0, "bottom")):
        figure.add_annotation(
            text=text,
            x=0.99,
            y=y,
            xref="x2 domain",
            yref="y2 domain",
            xanchor="right",
            yanchor=anchor,
            font={"size": SMALL, "color": QUIET},
        )
    figure.add_annotation(
        text="thin: a seed, thick: their mean,<br>band: its interval",
        x=0.99,
        y=0.99,
        xref="x domain",
        yref="y domain",
        xanchor="right",
        yanchor="top",
        align="right",
        font={"size": SMALL, "color": QUIET},
    )
    return figure.update_layout(margin={"t": 96})


def _draw(figure: go.Figure, index: int, curve: xr.DataArray, band: xr.Dataset, offset: int) -> None:
    x_name, y_name = axis_names(index)
    where = {"xaxis": x_name, "yaxis": y_name}
    x = curve["position"].values - offset
    name = "τ" if index else "position"
    figure.add_traces(band_traces(x, band["low"].values, band["high"].values, DIFFERENCE, **where))
    for seed in curve["seed"].values:
        figure.add_trace(
            go.Scatter(
                x=x,
                y=curve.sel(seed=seed).values,
                mode="lines",
                line={"color": rgba(DIFFERENCE, 0.38), "width": 1.1},
                name=f"seed {seed}",
                showlegend=False,
                hovertemplate=f"{name} %{{x}}: %{{y:+.3f}}<extra>seed {seed}</extra>",
                **where,
            )
        )
    figure.add_trace(
        go.Scatter(
            x=x,
            y=band["estimate"].values,
            mode="lines+markers",
            line={"color": DIFFERENCE, "width": 2.5},
            marker={"size": 5 if index else 1, "color": DIFFERENCE},
            name="mean of seeds",
            showlegend=False,
            hovertemplate=f"{name} %{{x}}: %{{y:+.3f}}<extra>mean of seeds</extra>",
            **where,
        )
    )


def _offset(late: xr.DataArray) -> int:
    """Position at which τ = 0 (or the hold, where τ is undefined)."""
    for name in ("tau", "hold"):
        known = np.flatnonzero(np.isfinite(late[name].values))
        if len(known):
            return int(late["position"].values[known[-1]] - late[name].values[known[-1]])
    return 0


def _name_phases(figure: go.Figure, phases: Sequence[Phase], positions: np.ndarray, offset: int) -> None:
    """A shade over each named stretch, as far as half-way to the next measured point, with its name where it is."""
    for phase in phases:
        before, after = positions[positions < phase.first], positions[positions > phase.last]
        first = (phase.first + before[-1]) / 2 if len(before) else phase.first
        last = (phase.last + after[0]) / 2 if len(after) else phase.last
        above = SIGNS[phase.name] > 0
        figure.add_shape(
            type="rect",
            xref="x2",
            yref="y2 domain",
            x0=first - offset,
            x1=last - offset,
            y0=0,
            y1=1,
            fillcolor=rgba(DIFFERENCE, 0.1 if above else 0.045),
            line={"width": 0},
            layer="below",
        )
        figure.add_annotation(
            text=f"<b>{phase.name}</b>",
            x=(first + last) / 2 - offset,
            y=0.2 if above else 0.11,
            xref="x2",
            yref="y2 domain",
            yanchor="middle",
            font={"size": SMALL, "color": DIFFERENCE},
        )


def _mark_holds(figure: go.Figure, late: xr.DataArray, offset: int, x: tuple[float, float], top: float) -> None:
    """The holds that the curve passes, on an axis above the panel: arrival is hold 0."""
    marked = [
        (int(p) - offset, int(h)) for p, h in zip(late["position"].values, late["hold"].values, strict=True) if h >= 0
    ]
    shown = [pair for pair in marked if pair[1] in late.attrs.get("holds", [hold for _, hold in marked])]
    for tau, hold in shown:
        figure.add_shape(
            type="line",
            xref="x2",
            yref="y2 domain",
            x0=tau,
            x1=tau,
            y0=0,
            y1=1,
            line={"color": FAINT, "width": 1},
            layer="below",
        )
        figure.add_annotation(
            text=f"{hold}",
            x=tau,
            y=1,
            xref="x2",
            yref="y2 domain",
            yanchor="bottom",
            xanchor="center",
            yshift=2,
            font={"size": SMALL, "color": INK},
        )
    figure.add_annotation(
        text="<b>after the last update at p ≠ p0</b><br>hold, updates since arrival:",
        x=x[0],
        y=top,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        yshift=18,
        align="left",
        font={"size": SMALL + 1, "color": INK},
    )
