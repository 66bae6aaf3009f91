"""The schedules of both branches: which mixture every update was trained at."""

import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import COLOURS, FAINT, NAMES, QUIET, SMALL, themed


def mixture_steps(p: xr.DataArray, arrival: int, stacked: bool = False) -> go.Figure:
    """Mixture p of every update as steps, a panel a branch.

    Args:
        p: dims (branch, update), probabilities; updates count from 1.
        arrival: the update after which the schedule has ended, marked by a line.
        stacked: panels one below the other instead of side by side.
    """
    figure = themed("The mixture at every update, from below and from above", height=430 if stacked else 270)
    branches = [str(branch) for branch in p["branch"].values]
    places = domains(len(branches), 0.3 if stacked else 0.06)
    for index, branch in enumerate(branches):
        x_name, y_name = axis_names(index)
        figure.add_trace(
            go.Scatter(
                x=p["update"].values,
                y=p.sel(branch=branch).values,
                mode="lines",
                line={"shape": "hvh", "color": COLOURS[branch], "width": 2},
                xaxis=x_name,
                yaxis=y_name,
                name=NAMES[branch],
                showlegend=False,
                hovertemplate=f"update %{{x}}: p = %{{y:.3f}}<extra>{NAMES[branch]}</extra>",
            )
        )
        last = not stacked or index == len(branches) - 1
        x = (0.0, 1.0) if stacked else places[index]
        y = places[-1 - index] if stacked else (0.0, 1.0)
        set_panel(
            figure,
            index,
            x,
            y,
            NAMES[branch],
            x_axis={
                "title": {"text": "update since the fork"} if last else None,
                "range": [0, int(p["update"][-1]) + 1],
            },
            y_axis={
                "title": {"text": "mixture p" if index == 0 or stacked else ""},
                "range": [0, 1],
                "tickvals": [0, 0.5, 1],
                "showgrid": True,
                "gridcolor": FAINT,
            },
        )
        figure.add_shape(
            type="line",
            xref=x_name,
            yref=f"{y_name} domain",
            x0=arrival,
            x1=arrival,
            y0=0,
            y1=1,
            line={"color": QUIET, "width": 1, "dash": "dot"},
        )
        figure.add_annotation(
            text="arrival",
            x=arrival,
            y=0.02,
            xref=x_name,
            yref=f"{y_name} domain",
            xanchor="left",
            yanchor="bottom",
            xshift=4,
            font={"size": SMALL, "color": QUIET},
        )
    return figure.update_layout(margin={"t": 76})
