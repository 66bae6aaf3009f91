"""The gap by the key that is queried, a column a seed: a matter of a few keys, or of all of them?"""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.theme import DIFFERENCE, PAPER, QUIET, rgba, themed


def gap_by_key(gaps: xr.DataArray, stacked: bool = False) -> go.Figure:
    """Gap of every queried key, a column of dots a seed with the seed's mean over its keys as a diamond.

    Args:
        gaps: dims (seed, key), logits; NaN where a seed has no trial of a key. The fixed answer of a key differs by
            seed, so columns share no keys: they are drawn in the order of their gaps.
        stacked: for narrow columns: the legend takes more lines.
    """
    figure = themed("The gap by queried key, on arrival", height=400 if stacked else 360)
    seeds = [int(seed) for seed in gaps["seed"].values]
    for index, seed in enumerate(seeds):
        column = gaps.sel(seed=seed).values
        keys = gaps["key"].values[np.isfinite(column)]
        column = column[np.isfinite(column)]
        order = np.argsort(column, kind="stable")
        lanes = np.linspace(-0.3, 0.3, len(order)) if len(order) > 1 else np.zeros(len(order))
        figure.add_trace(
            go.Scatter(
                x=index + lanes,
                y=column[order],
                mode="markers",
                marker={"size": 6, "color": rgba(DIFFERENCE, 0.5)},
                name="one key",
                legendgroup="key",
                showlegend=index == 0,
                text=[f"key {key}" for key in keys[order]],
                hovertemplate=f"%{{text}}: %{{y:+.3f}}<extra>seed {seed}</extra>",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=[index],
                y=[float(column.mean())] if column.size else [None],
                mode="markers",
                marker={"symbol": "diamond", "size": 11, "color": DIFFERENCE, "line": {"color": PAPER, "width": 1.2}},
                name="mean over keys",
                legendgroup="mean",
                showlegend=index == 0,
                hovertemplate=f"mean over keys: %{{y:+.3f}}<extra>seed {seed}</extra>",
            )
        )
    figure.update_xaxes(
        tickvals=list(range(len(seeds))),
        ticktext=[str(seed) for seed in seeds],
        range=[-0.5, len(seeds) - 0.5],
        title={"text": "training seed"},
    )
    figure.update_yaxes(title={"text": "gap, logits"}, zeroline=True, zerolinecolor=QUIET, zerolinewidth=1)
    return figure.update_layout(margin={"t": 92 if stacked else 84})
