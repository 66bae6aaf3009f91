"""How much of the answer the first edges of a ranking keep: a curve a history, beside random rankings."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.band import band_traces
from hyst_interp.plots.intervals import limits
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import COLOURS, NAMES, QUIET, SMALL, themed

PLOT, TOP, BOTTOM, BETWEEN = 260, 96, 52, 84
"""Heights in pixels: a panel, the margins, between panels one below the other."""


def faithfulness_curves(kept: xr.Dataset, random: xr.Dataset, wanted: float, stacked: bool = False) -> go.Figure:
    """Share of the difference between clean and corrupted that the first edges keep, by their number.

    Args:
        kept: `estimate`, `low`, `high` over seeds, dims (twin, branch, size).
        random: the same of random rankings, dims (twin, floor_size).
        wanted: the share at which circuits are cut, drawn as a dashed line.
        stacked: panels one below the other instead of side by side.
    """
    twins = [str(twin) for twin in kept["twin"].values]
    n = len(twins)
    plot = n * PLOT + (n - 1) * BETWEEN if stacked else PLOT
    figure = themed("Faithfulness of circuits by their size", height=plot + TOP + BOTTOM)
    xs = [(0.0, 1.0)] * n if stacked else domains(n, 0.08)
    ys = domains(n, BETWEEN / plot)[::-1] if stacked else [(0.0, 1.0)] * n
    for index, twin in enumerate(twins):
        x_name, y_name = axis_names(index)
        where = {"xaxis": x_name, "yaxis": y_name}
        chance, ranked = random.sel(twin=twin), kept.sel(twin=twin)
        lines = {"random rankings": (chance["floor_size"].values, chance, QUIET, "dot")}
        lines |= {
            NAMES[branch]: (ranked["size"].values, ranked.sel(branch=branch), COLOURS[branch], "solid")
            for branch in (str(branch) for branch in ranked["branch"].values)
        }
        for name, (x, curve, colour, dash) in lines.items():
            figure.add_traces(band_traces(x, _short(curve["low"]), _short(curve["high"]), colour, **where))
            figure.add_trace(
                go.Scatter(
                    x=x,
                    y=_short(curve["estimate"]),
                    mode="lines",
                    line={"color": colour, "width": 2, "dash": dash},
                    name=name,
                    legendgroup=name,
                    showlegend=index == 0,
                    hovertemplate="%{x} edges: %{y:.3f}<extra>" + name + "</extra>",
                    **where,
                )
            )
        shares, low, high = (
            np.concatenate([curve[name].values for _, curve, _, _ in lines.values()])
            for name in ("estimate", "low", "high")
        )
        ends = limits(shares, [low, high], 0.15)
        line = {"color": QUIET, "width": 1, "dash": "dash"}
        level = {"y0": wanted, "y1": wanted, "yref": y_name, "x0": 0, "x1": 1, "xref": f"{x_name} domain"}
        figure.add_shape(type="line", line=line, layer="below", **level)
        figure.add_annotation(
            text=f"{wanted:g}",
            x=1,
            xref=f"{x_name} domain",
            y=wanted,
            yref=y_name,
            xanchor="right",
            yanchor="bottom",
            font={"size": SMALL, "color": QUIET},
        )
        set_panel(
            figure,
            index,
            xs[index],
            ys[index],
            f"{twin} twin",
            x_axis={"title": {"text": "edges of the ranking"}},
            y_axis={"title": {"text": "share kept" if stacked or index == 0 else ""}, "range": list(ends)},
        )
    return figure.update_layout(
        margin={"t": TOP, "b": BOTTOM}, title={"y": 1, "yanchor": "top"}, legend={"y": 1 + 28 / plot}
    )


def _short(values: xr.DataArray) -> np.ndarray:
    """Four decimals: what a line can show, in half the bytes."""
    return np.round(values.values, 4)
