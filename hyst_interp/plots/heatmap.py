"""Patching maps as heatmaps, the paper's way: from below, from above, and their difference.

Both histories share one colour scale with equal limits and white at 0, so that equal colours are equal effects; the
difference has a scale and limits of its own.
"""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import DIFFERENCES, EFFECTS, GRID, NAMES, QUIET, SMALL, themed

SITES = {
    "resid_pre": "the residual stream",
    "result": "head outputs",
    "mlp_out": "MLP outputs",
    "pattern": "attention patterns",
}
DIRECTIONS = {"denoise": "clean into corrupted", "noise": "corrupted into clean"}
ROW, TOP, BETWEEN, BAR = 26, 84, 40, 58
"""Heights in pixels: a row of cells, everything above the first panel, a heading between panels, the colour bars."""


def heatmap(
    array: xr.DataArray, stacked: bool = False, headings: Mapping[str, str] = NAMES, difference: str = "difference"
) -> go.Figure:
    """Mean patching effects as panels, a history each, with two colour bars.

    Args:
        array: dims ([history,] [answer,] layer[, head], pos|role), in `attrs["units"]`. `history` holds any of below,
            above, difference (or anchor); `answer` (the query twin's two logits) gives a row of panels each. Its attrs
            `site`, `twin`, `direction`, and `effect` are said in the title, unless `title` gives it whole; `quantity`
            names what the cells are, and `from_zero` starts their scale at 0. NaN cells stay blank.
        stacked: panels one below the other instead of side by side.
        headings: history → what is written above its panel.
        difference: the word under the difference's colour bar.

    Raises:
        UserError: dims that are no patching map.
    """
    cells = _with_panels(array)
    place = str(cells.dims[-1])
    histories = [str(history) for history in cells["history"].values]
    answers = [str(answer) for answer in cells["answer"].values]
    rows, columns = row_labels(array), [str(label) for label in cells[place].values]
    across = 1 if stacked else len(histories)
    down = len(answers) * len(histories) // across
    tick_room = 74 if place == "role" else 34
    heights = down * (ROW * len(rows) + tick_room) + (down - 1) * BETWEEN
    figure = themed(_title(array), height=TOP + heights + BAR)
    widths, unit = domains(across, 0.035), 1 / heights
    axis = {
        "tickangle": -40 if place == "role" else 0,
        "tickfont": {"size": SMALL if place == "role" or len(columns) <= 12 else 10},
        "showline": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "automargin": False,
        "type": "category",
        "categoryorder": "array",
        "categoryarray": columns,
    }
    for index, (answer, history) in enumerate((a, h) for a in answers for h in histories):
        panel = cells.sel(history=history, answer=answer).values.reshape(len(rows), len(columns))
        x_name, y_name = axis_names(index)
        figure.add_trace(
            go.Heatmap(
                z=panel,
                x=columns,
                y=rows,
                xaxis=x_name,
                yaxis=y_name,
                xgap=1,
                ygap=1,
                coloraxis="coloraxis2" if history == "difference" else "coloraxis",
                name=headings.get(history, history),
                hovertemplate=f"%{{y}}, %{{x}}: %{{z:+.3f}} {_units(array)}<extra></extra>",
            )
        )
        column, line = index % across, index // across
        top = 1 - line * (ROW * len(rows) + tick_room + BETWEEN) * unit
        y_axis = {
            "autorange": "reversed",
            "showticklabels": column == 0,
            "showline": False,
            "ticks": "",
            "ticklabelstandoff": 6,
            "type": "category",
        }
        heading = headings.get(history, history) + (f", {answer} answer" if len(answers) > 1 else "")
        place_y = (max(top - ROW * len(rows) * unit, 0), top)
        set_panel(figure, index, widths[column], place_y, heading, x_axis=axis, y_axis=y_axis)
    scales = _scales(cells, histories, widths, array.attrs, heights, difference)
    for words in scales.pop("annotations"):
        figure.add_annotation(**words)
    figure.update_layout(scales)
    figure.update_layout(margin={"l": 92, "r": 16, "t": TOP, "b": BAR}, plot_bgcolor=GRID)
    return figure


def row_labels(array: xr.DataArray) -> list[str]:
    """Labels of a map's rows: `resid_pre 0 … resid_post`, `L0MLP …`, or heads `L0H0 …`."""
    layers = [int(layer) for layer in array["layer"].values]
    if "head" in array.dims:
        return [f"L{layer}H{int(head)}" for layer in layers for head in array["head"].values]
    if array.attrs.get("site") == "resid_pre":
        return [*(f"resid_pre {layer}" for layer in layers[:-1]), "resid_post"]
    return [f"L{layer}MLP" if array.attrs.get("site") == "mlp_out" else f"layer {layer}" for layer in layers]


def limits(cells: xr.DataArray, histories: list[str]) -> tuple[float, float]:
    """Largest |value| of the histories together, and of the difference: where the two colour scales end."""

    def end(names: list[str]) -> float:
        values = np.abs(cells.sel(history=names).values)
        values = values[np.isfinite(values)]
        return float(values.max()) if values.size and values.max() > 0 else 1.0

    return end([h for h in histories if h != "difference"]), end([h for h in histories if h == "difference"])


def _with_panels(array: xr.DataArray) -> xr.DataArray:
    """The same values with dims (history, answer, layer[, head], pos|role)."""
    cells = array if "history" in array.dims else array.expand_dims(history=[""])
    cells = cells if "answer" in cells.dims else cells.expand_dims(answer=[""])
    place = [dim for dim in ("pos", "role") if dim in cells.dims]
    head = ["head"] if "head" in cells.dims else []
    wanted = ["history", "answer", "layer", *head, *place]
    if len(place) != 1 or set(wanted) != set(cells.dims):
        raise UserError(
            f"array has dims {', '.join(map(str, array.dims))}; a heatmap needs layer[, head], and pos or role, after"
            " an optional history and answer."
        )
    return cells.transpose(*wanted)


def _units(array: xr.DataArray) -> str:
    return str(array.attrs.get("units", "logits"))


def _title(array: xr.DataArray) -> str:
    attrs = array.attrs
    if "title" in attrs:
        return str(attrs["title"])
    site = str(attrs.get("site", "a site"))
    words = f"Patching {SITES.get(site, site)}"
    words += " by role" if "role" in array.dims else " by position"
    if "direction" in attrs:
        words += f", {DIRECTIONS.get(str(attrs['direction']), attrs['direction'])}"
    if "twin" in attrs:
        words += f" ({attrs['twin']} twin)"
    on = "logits" if "answer" in array.dims else "the margin"
    return f"{words}: {attrs.get('effect', 'raw')} effect on {on}"


def _scales(
    cells: xr.DataArray,
    histories: list[str],
    widths: list[tuple[float, float]],
    attrs: dict,
    height: int,
    difference: str,
) -> dict:
    """The two colour axes, each with a bar and its words below a plot area `height` pixels high."""
    ends = limits(cells, histories)
    own = [h for h in histories if h != "difference"]
    both = bool(own) and "difference" in histories
    if len(widths) == len(histories) and both:
        spans = [(widths[0][0], widths[len(own) - 1][1]), widths[-1]]
    else:
        spans = [(0.0, 0.46), (0.54, 1.0)] if both else [(0.0, 1.0), (0.0, 1.0)]
    layout: dict = {"annotations": []}
    units, half = str(attrs.get("units", "logits")), bool(attrs.get("from_zero", False))
    upper = [[2 * (at - 0.5), colour] for at, colour in EFFECTS if at >= 0.5]
    parts = (
        ("coloraxis", ends[0], spans[0], upper if half else EFFECTS, str(attrs.get("quantity", "effect"))),
        ("coloraxis2", ends[1], spans[1], DIFFERENCES, difference),
    )
    for name, end, span, scale, word in parts:
        if not (own if name == "coloraxis" else "difference" in histories):
            continue
        start = 0 if half and name == "coloraxis" else -end
        middle = (span[0] + span[1]) / 2
        layout["annotations"].append(
            {
                "text": f"{word} ({units})",
                "x": middle,
                "y": 0,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "center",
                "yanchor": "top",
                "font": {"size": SMALL, "color": QUIET},
            }
        )
        layout[name] = {
            "cmin": start,
            "cmax": end,
            "cmid": (start + end) / 2,
            "colorscale": scale,
            "colorbar": {
                "orientation": "h",
                "x": middle,
                "xanchor": "center",
                "len": (span[1] - span[0]) * 0.8,
                "y": -22 / height,
                "yanchor": "top",
                "ypad": 0,
                "xpad": 0,
                "thickness": 9,
                "outlinewidth": 0,
                "tickfont": {"size": SMALL, "color": QUIET},
                "tickangle": 0,
                "tickvals": [-end, 0, end][start == 0 :],
                "ticktext": [_end(-end), "0", _end(end)][start == 0 :],
            },
        }
    return layout


def _end(number: float) -> str:
    return f"{number:+.2g}".replace("-", "−")
