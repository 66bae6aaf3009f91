"""Margins against the best margin: a network that always kept up would walk along the diagonal.

A branch that lags opens a loop; above the diagonal it is more contextual than its mixture asks for.
"""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import COLOURS, FAINT, NAMES, PAPER, QUIET, SMALL, rgba, themed

ARROW_EVERY = 4
"""Measured positions between two arrow heads on the mean loop."""


def margin_loop(margins: xr.DataArray, mean: xr.DataArray, arrival: int, stacked: bool = False) -> go.Figure:
    """Mean margin against log(p/(1−p)), a panel a branch: thin lines are seeds, the thick one their mean.

    Args:
        margins: dims (seed, branch, position) in logits, means over trials and data orders, with the coordinate
            `best_margin` (branch, position).
        mean: the same over seeds, dims (branch, position).
        arrival: the position at which the schedule ends; later positions are left out.
        stacked: panels one below the other instead of side by side.
    """
    shown = margins.sel(position=slice(None, arrival))
    mean = mean.sel(position=slice(None, arrival))
    best = shown["best_margin"].transpose("branch", "position").values
    reach = 1.08 * float(max(np.nanmax(np.abs(best)), np.nanmax(np.abs(shown.values)), 0.1))
    figure = themed(
        "Margins along both branches, against the best margin at each mixture", height=720 if stacked else 430
    )
    branches = [str(branch) for branch in shown["branch"].values]
    places = domains(len(branches), 0.14 if stacked else 0.07)
    for index, branch in enumerate(branches):
        x_name, y_name = axis_names(index)
        where = {"xaxis": x_name, "yaxis": y_name, "showlegend": False}
        figure.add_trace(
            go.Scatter(
                x=[-reach, reach],
                y=[-reach, reach],
                mode="lines",
                line={"color": QUIET, "width": 1, "dash": "dash"},
                hoverinfo="skip",
                name="margin = log(p/(1−p))",
                **where,
            )
        )
        for seed in shown["seed"].values:
            figure.add_trace(
                go.Scatter(
                    x=best[index],
                    y=shown.sel(seed=seed, branch=branch).values,
                    mode="lines",
                    line={"color": rgba(COLOURS[branch], 0.32), "width": 1},
                    hoverinfo="skip",
                    name=f"seed {seed}",
                    **where,
                )
            )
        figure.add_trace(_mean_loop(best[index], mean.sel(branch=branch), branch, where))
        figure.add_trace(_ends(best[index], mean.sel(branch=branch), branch, where))
        x = (0.0, 1.0) if stacked else places[index]
        y = places[-1 - index] if stacked else (0.0, 1.0)
        axis = {"range": [-reach, reach], "zeroline": True, "zerolinecolor": FAINT, "zerolinewidth": 1}
        last = not stacked or index == len(branches) - 1
        set_panel(
            figure,
            index,
            x,
            y,
            NAMES[branch],
            x_axis={**axis, "title": {"text": "best margin log(p/(1−p)), logits" if last else ""}},
            y_axis={**axis, "title": {"text": "mean margin, logits" if index == 0 or stacked else ""}},
        )
        figure.add_annotation(
            text="margin = log(p/(1−p))",
            x=reach * 0.97,
            y=reach * 0.97,
            xref=x_name,
            yref=y_name,
            xanchor="right",
            yanchor="middle",
            xshift=-16,
            font={"size": SMALL, "color": QUIET},
        )
    return figure.update_layout(margin={"t": 76})


def _mean_loop(best: np.ndarray, mean: xr.DataArray, branch: str, where: dict) -> go.Scatter:
    sizes = [14 if index % ARROW_EVERY == 1 else 0 for index in range(len(best))]
    return go.Scatter(
        x=best,
        y=mean.values,
        mode="lines+markers",
        line={"color": COLOURS[branch], "width": 2.5},
        marker={
            "symbol": "arrow",
            "angleref": "previous",
            "size": sizes,
            "color": COLOURS[branch],
            "opacity": 1,
            "line": {"width": 0},
        },
        text=[f"position {int(position)}" for position in mean["position"].values],
        hovertemplate="%{text}: best %{x:+.2f}, margin %{y:+.3f}<extra>mean of seeds</extra>",
        name="mean of seeds",
        **where,
    )


def _ends(best: np.ndarray, mean: xr.DataArray, branch: str, where: dict) -> go.Scatter:
    ends = [0, -1]
    return go.Scatter(
        x=best[ends],
        y=mean.values[ends],
        mode="markers+text",
        marker={
            "symbol": ["circle", "diamond"],
            "size": [9, 10],
            "color": [PAPER, COLOURS[branch]],
            "line": {"color": COLOURS[branch], "width": 2},
            "opacity": 1,
        },
        text=["fork", "arrival"],
        textposition=["bottom right", "top left"],
        textfont={"size": SMALL, "color": COLOURS[branch]},
        hoverinfo="skip",
        name="fork and arrival",
        **where,
    )
