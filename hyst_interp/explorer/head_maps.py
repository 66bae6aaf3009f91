"""One head's matrix as panels: from below, from above, their difference. For attention patterns, QK and OV circuits."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import DIFFERENCES, EFFECTS, GRID, NAMES, SMALL, themed

AXES = {
    "query_pos": "query position",
    "key_pos": "key position",
    "query_token": "query token",
    "key_token": "key token",
    "source": "attended token",
    "token": "token whose logit is written",
}
SIDE, TOP, BOTTOM, FULL = 330, 84, 96, 20
"""Pixels: a panel's height, above it, below it; and the labels that an axis shows at most."""


def head_maps(array: xr.DataArray) -> go.Figure:
    """Panels of one head's matrix, a history each, rows from top to bottom.

    Args:
        array: dims (history, row, column) with labels, as `pair.exploration()["qk"].sel(layer=1, head=0)`; the name,
            the layer, and the head are said in the title. The histories share one colour scale, the difference has
            its own; both have white at 0.

    Raises:
        UserError: other dims.
    """
    if array.ndim != 3 or "history" not in array.dims:
        raise UserError(
            f"array has dims {', '.join(map(str, array.dims))}; select one trial, layer and head, so that history and"
            " two others are left."
        )
    cells = array.transpose("history", ...)
    row, column = (str(dim) for dim in cells.dims[1:])
    histories = [str(history) for history in cells["history"].values]
    rows, columns = ([str(label) for label in cells[dim].values] for dim in (row, column))
    figure = themed(_title(array), height=TOP + SIDE + BOTTOM)
    for index, history in enumerate(histories):
        values = cells.sel(history=history).values
        x_name, y_name = axis_names(index)
        scale = "coloraxis2" if history == "difference" else "coloraxis"
        words = f"%{{y}}, %{{x}}: %{{z:+.3f}} {array.attrs.get('units', '')}<extra></extra>"
        trace = go.Heatmap(
            z=np.round(values, 4), x=columns, y=rows, xaxis=x_name, yaxis=y_name, coloraxis=scale, hovertemplate=words
        )
        figure.add_trace(trace)
        place = domains(len(histories), 0.03)[index]
        set_panel(
            figure,
            index,
            place,
            (0.0, 1.0),
            NAMES.get(history, history),
            x_axis={**_axis(column, columns), "tickangle": -90},
            y_axis={**_axis(row, rows), "autorange": "reversed", "showticklabels": index == 0}
            | ({} if index == 0 else {"title": {"text": ""}}),
        )
    figure.update_layout(
        coloraxis=_scale(cells.sel(history=[h for h in histories if h != "difference"]), EFFECTS, 0.2),
        coloraxis2=_scale(cells.sel(history=[h for h in histories if h == "difference"]), DIFFERENCES, 0.84),
        margin={"l": 64, "r": 16, "t": TOP, "b": BOTTOM},
        plot_bgcolor=GRID,
    )
    return figure


def _axis(dim: str, labels: list[str]) -> dict:
    step = -(-len(labels) // FULL)
    return {
        "title": {"text": AXES.get(dim, dim)},
        "type": "category",
        "tickvals": labels[::step],
        "showline": False,
        "ticks": "",
        "tickfont": {"size": 10},
    }


def _scale(values: xr.DataArray, colours: list, x: float) -> dict:
    end = float(np.abs(values.values).max()) if values.size else 0.0
    end = end or 1.0
    return {
        "cmin": -end,
        "cmax": end,
        "colorscale": colours,
        "colorbar": {
            "orientation": "h",
            "x": x,
            "len": 0.3,
            "y": -0.24,
            "yanchor": "top",
            "thickness": 9,
            "outlinewidth": 0,
            "tickvals": [-end, 0, end],
            "ticktext": [f"{-end:.2g}".replace("-", "−"), "0", f"{end:.2g}"],
            "tickfont": {"size": SMALL},
        },
    }


def _title(array: xr.DataArray) -> str:
    what = str(array.attrs.get("method", array.name or "matrix"))
    if "layer" not in array.coords or "head" not in array.coords:
        return what
    head = f"L{int(array['layer'])}H{int(array['head'])}"
    return f"{head}, trial {int(array['trial'])}: {what}" if "trial" in array.coords else f"{head}: {what}"
