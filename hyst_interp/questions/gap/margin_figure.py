"""Margins over position, both branches in one panel, with the best margin beside them."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.band import band_traces
from hyst_interp.plots.intervals import limits
from hyst_interp.plots.theme import COLOURS, FAINT, NAMES, QUIET, SMALL, rgba, themed


def margin_course(margins: xr.DataArray, band: xr.Dataset, arrival: int, stacked: bool = False) -> go.Figure:
    """Mean margin over updates since the fork: a thin line a seed, a thick mean with its band, dotted the best margin.

    Args:
        margins: dims (seed, branch, position) in logits with the coordinate `best_margin` (branch, position).
        band: `estimate`, `low`, `high` over seeds, dims (branch, position).
        arrival: the position at which the schedule ends.
        stacked: for narrow columns: taller, with the legend in two lines.
    """
    figure = themed("Margins over updates since the fork, beside the best margin", height=380)
    position = margins["position"].values
    for branch in (str(branch) for branch in margins["branch"].values):
        colour, mean = COLOURS[branch], band.sel(branch=branch)
        figure.add_trace(
            go.Scatter(
                x=position,
                y=margins["best_margin"].sel(branch=branch).values,
                mode="lines",
                line={"color": colour, "width": 1.2, "dash": "dot", "shape": "vh"},
                name=f"best, {NAMES[branch]}",
                hovertemplate="position %{x}: %{y:+.2f}<extra>best margin</extra>",
            )
        )
        figure.add_traces(band_traces(position, mean["low"].values, mean["high"].values, colour))
        for seed in margins["seed"].values:
            figure.add_trace(
                go.Scatter(
                    x=position,
                    y=margins.sel(seed=seed, branch=branch).values,
                    mode="lines",
                    line={"color": rgba(colour, 0.35), "width": 1},
                    name=f"seed {seed}",
                    showlegend=False,
                    hovertemplate=f"position %{{x}}: %{{y:+.3f}}<extra>seed {seed}, {NAMES[branch]}</extra>",
                )
            )
        figure.add_trace(
            go.Scatter(
                x=position,
                y=mean["estimate"].values,
                mode="lines",
                line={"color": colour, "width": 2.5},
                name=f"mean, {NAMES[branch]}",
                hovertemplate=f"position %{{x}}: %{{y:+.3f}}<extra>mean, {NAMES[branch]}</extra>",
            )
        )
    figure.add_vline(x=arrival, line={"color": QUIET, "width": 1, "dash": "dot"})
    figure.add_annotation(
        text="arrival",
        x=arrival,
        y=0.01,
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        xshift=4,
        font={"size": SMALL, "color": QUIET},
    )
    figure.update_xaxes(title={"text": "position: updates since the fork"}, range=[position[0], position[-1]])
    points = np.concatenate([margins.values.ravel(), margins["best_margin"].values.ravel()])
    figure.update_yaxes(
        title={"text": "margin, logits"},
        range=list(limits(points, [band["low"].values, band["high"].values], 0.25)),
        zeroline=True,
        zerolinecolor=FAINT,
        zerolinewidth=1,
    )
    return figure.update_layout(margin={"t": 110 if stacked else 92})
