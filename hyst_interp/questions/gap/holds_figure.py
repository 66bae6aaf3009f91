"""The gap at each hold: every data order, every seed, and their mean with its interval."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.intervals import limits, whiskers
from hyst_interp.plots.theme import DIFFERENCE, INK, PAPER, QUIET, rgba, themed

FIRST_LANE, LAST_LANE, MEAN_LANE = -0.32, 0.12, 0.32
"""Where seeds and the mean stand within a hold's unit of the axis."""


def gap_at_holds(gaps: xr.DataArray, seeds: xr.DataArray, band: xr.Dataset, stacked: bool = False) -> go.Figure:
    """The gap at each hold: a dot a seed and data order, a dash a seed, a diamond with its interval for the mean.

    Args:
        gaps: dims (seed, order, hold), logits.
        seeds: the same over data orders, dims (seed, hold).
        band: `estimate`, `low`, `high` over seeds, dim (hold,).
        stacked: for narrow columns: the legend takes more lines.
    """
    figure = themed("The gap on arrival and after further updates at p0", height=440 if stacked else 400)
    holds = [int(hold) for hold in gaps["hold"].values]
    n_seeds = gaps.sizes["seed"]
    lanes = np.linspace(FIRST_LANE, LAST_LANE, n_seeds) if n_seeds > 1 else np.array([-0.1])
    low, high = limits(
        np.concatenate([gaps.values.ravel(), band["estimate"].values]), [band["low"].values, band["high"].values]
    )
    for index, hold in enumerate(holds):
        first = index == 0
        orders, means, mean = gaps.sel(hold=hold), seeds.sel(hold=hold), band.sel(hold=hold)
        dots = orders.transpose("seed", "order").values
        figure.add_trace(
            go.Scatter(
                x=np.repeat(index + lanes, dots.shape[1]),
                y=dots.ravel(),
                mode="markers",
                marker={"size": 6, "color": rgba(DIFFERENCE, 0.4), "line": {"width": 0}},
                name="one data order",
                showlegend=first,
                text=[f"seed {s}, order {o}" for s in orders["seed"].values for o in orders["order"].values],
                hovertemplate=f"%{{text}}: %{{y:+.3f}}<extra>hold {hold}</extra>",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=index + lanes,
                y=means.values,
                mode="markers",
                marker={"symbol": "line-ew", "size": 14, "line": {"width": 2.5, "color": DIFFERENCE}},
                name="a seed",
                showlegend=first,
                text=[f"seed {seed}" for seed in means["seed"].values],
                hovertemplate=f"%{{text}}: %{{y:+.3f}}<extra>hold {hold}</extra>",
            )
        )
        ends = (mean["low"].values, mean["high"].values)
        figure.add_traces(whiskers(*ends, index + MEAN_LANE, INK, (low, high), vertical=True, opacity=1.0))
        figure.add_trace(
            go.Scatter(
                x=[index + MEAN_LANE],
                y=[float(mean["estimate"])],
                mode="markers",
                marker={"symbol": "diamond", "size": 10, "color": INK, "line": {"color": PAPER, "width": 1}},
                name="mean of seeds, with interval",
                showlegend=first,
                hovertemplate=f"mean: %{{y:+.3f}}<extra>hold {hold}</extra>",
            )
        )
    figure.update_xaxes(
        tickvals=list(range(len(holds))),
        ticktext=["0 (arrival)" if hold == 0 else str(hold) for hold in holds],
        range=[-0.5, len(holds) - 0.5],
        title={"text": "hold: further updates at p0 after arrival"},
    )
    figure.update_yaxes(
        title={"text": "gap, logits"}, zeroline=True, zerolinecolor=QUIET, zerolinewidth=1, range=[low, high]
    )
    return figure.update_layout(margin={"t": 128 if stacked else 84})
