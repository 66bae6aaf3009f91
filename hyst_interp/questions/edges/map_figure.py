"""Every edge as a cell: sources down, what reads them across; from below, from above, and their difference."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.plots.panels import axis_names, set_panel
from hyst_interp.plots.theme import DIFFERENCES, EFFECTS, GRID, PAPER, SMALL, themed
from hyst_interp.questions.edges.figure import HEADINGS, edge_title

ROW, TOP, BETWEEN, LABELS, RIGHT = 19, 84, 44, 66, 92
"""Pixels: a row of cells, above the first panel, between panels, the labels below the last, the colour bars."""


def edge_map(table: xr.Dataset, stacked: bool = False) -> go.Figure:
    """Effects of all edges as matrices, one below the other; white at 0, blank where there is no edge.

    Args:
        table: dims (quantity, edge): `estimate` in `attrs["units"]`, with the coordinates `source`, `target`, `slot`,
            and where there are any `low` and `high`, which the hover tells. Panels share one scale; `difference` and
            `interaction` have their own.
        stacked: for narrow columns: a head's three inputs share one label, at its key.

    Raises:
        UserError: a table without these.
    """
    if missing := sorted({"estimate", "source", "target", "slot", "quantity"} - set(map(str, table.variables))):
        raise UserError(
            f"table has no '{missing[0]}'; give a table of edges with estimate, source, target, and slot, by quantity."
        )
    quantities = [str(quantity) for quantity in table["quantity"].values]
    inputs = [
        target if slot == "in" else f"{target}.{slot}"
        for target, slot in zip(table["target"].values, table["slot"].values, strict=True)
    ]
    rows = list(dict.fromkeys(map(str, table["source"].values)))
    columns = list(dict.fromkeys(map(str, inputs)))
    cells = [
        (rows.index(str(source)), columns.index(to)) for source, to in zip(table["source"].values, inputs, strict=True)
    ]
    named = [column for column in columns if not stacked or column[-2:] not in (".q", ".v")]
    labels = {"tickvals": named, "ticktext": [name.removesuffix(".k") if stacked else name for name in named]}
    panel = ROW * len(rows)
    bar = min(190.0, panel + BETWEEN - 24.0)
    heights = len(quantities) * panel + (len(quantities) - 1) * BETWEEN
    figure = themed(edge_title(table), height=TOP + heights + LABELS)
    for index, quantity in enumerate(quantities):
        effects = table.sel(quantity=quantity)
        own = quantity in ("difference", "interaction")
        x_name, y_name = axis_names(index)
        top = 1 - index * (panel + BETWEEN) / heights
        figure.add_trace(
            go.Heatmap(
                z=_matrix(effects["estimate"].values, cells, len(rows), len(columns)),
                x=columns,
                y=rows,
                text=_texts(effects, cells, len(rows), len(columns)),
                xaxis=x_name,
                yaxis=y_name,
                xgap=1,
                ygap=1,
                coloraxis="coloraxis2" if own else "coloraxis",
                name=HEADINGS.get(quantity, quantity),
                hovertemplate="%{text}<extra></extra>",
                hoverongaps=False,
            )
        )
        quiet = {"showline": False, "ticks": "", "type": "category", "tickfont": {"size": SMALL - 1}}
        set_panel(
            figure,
            index,
            (0.0, 1.0),
            (max(top - panel / heights, 0.0), top),
            HEADINGS.get(quantity, quantity),
            x_axis={
                **quiet,
                **labels,
                "tickangle": -60,
                "showticklabels": index == len(quantities) - 1,
                "automargin": False,
            },
            y_axis={**quiet, "autorange": "reversed", "automargin": False},
        )
    figure.update_layout(
        coloraxis=_scale(table, [h for h in quantities if h not in ("difference", "interaction")], EFFECTS, 1.0, bar),
        coloraxis2=_scale(
            table, [h for h in quantities if h in ("difference", "interaction")], DIFFERENCES, panel / heights, bar
        ),
        margin={"l": 64, "r": RIGHT, "t": TOP, "b": LABELS},
        plot_bgcolor=GRID if len(rows) * len(columns) < 400 else PAPER,
    )
    return figure


def _matrix(values: np.ndarray, cells: list[tuple[int, int]], n_rows: int, n_columns: int) -> np.ndarray:
    """Values at their cells, NaN elsewhere."""
    matrix = np.full((n_rows, n_columns), np.nan)
    for value, place in zip(values, cells, strict=True):
        matrix[place] = round(float(value), 5)
    return matrix


def _texts(one: xr.Dataset, cells: list[tuple[int, int]], n_rows: int, n_columns: int) -> list[list[str]]:
    """What the hover says of every cell."""
    texts = [[""] * n_columns for _ in range(n_rows)]
    units = str(one.attrs.get("units", "logits"))
    for at, (row, column) in enumerate(cells):
        words = f"{one['edge'].values[at]}: {float(one['estimate'].values[at]):+.3f} {units}"
        if "low" in one and "high" in one:
            words += f" [{float(one['low'].values[at]):+.3f}, {float(one['high'].values[at]):+.3f}]"
        texts[row][column] = words.replace("-", "−")
    return texts


def _scale(table: xr.Dataset, quantities: list[str], colours: list, top: float, length: float) -> dict:
    """A colour axis with its bar on the right; `top` is where the bar's upper end stands."""
    values = np.abs(table["estimate"].sel(quantity=quantities).values)
    end = float(values.max()) if values.size and values.max() > 0 else 1.0
    return {
        "cmin": -end,
        "cmid": 0,
        "cmax": end,
        "colorscale": colours,
        "showscale": bool(quantities),
        "colorbar": {
            "title": {"text": str(table.attrs.get("units", "logits")), "font": {"size": SMALL}},
            "x": 1.01,
            "xanchor": "left",
            "y": top,
            "yanchor": "top",
            "len": length,
            "lenmode": "pixels",
            "thickness": 9,
            "outlinewidth": 0,
            "tickfont": {"size": SMALL},
            "tickvals": [-end, 0, end],
            "ticktext": [f"−{end:.2g}", "0", f"+{end:.2g}"],
        },
    }
