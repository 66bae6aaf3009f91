"""Panels of one figure, side by side or (for narrow columns) one below the other, with a heading each.

The traces of a figure are the same in both arrangements; only the layout differs. So a page can hold one set of data
and two layouts.
"""

import plotly.graph_objects as go

from hyst_interp.plots.theme import INK, SIZE


def axis_names(index: int) -> tuple[str, str]:
    """Trace references of panel `index` (from 0): `x`, `y`, then `x2`, `y2`, …"""
    return ("x", "y") if index == 0 else (f"x{index + 1}", f"y{index + 1}")


def layout_names(index: int) -> tuple[str, str]:
    """Layout keys of panel `index` (from 0): `xaxis`, `yaxis`, then `xaxis2`, `yaxis2`, …"""
    return ("xaxis", "yaxis") if index == 0 else (f"xaxis{index + 1}", f"yaxis{index + 1}")


def domains(n: int, space: float) -> list[tuple[float, float]]:
    """`n` equal stretches of 0 … 1 with `space` between them."""
    width = (1 - space * (n - 1)) / n
    return [(i * (width + space), i * (width + space) + width) for i in range(n)]


def set_panel(
    figure: go.Figure, index: int, x: tuple[float, float], y: tuple[float, float], heading: str = "", **axes: dict
) -> None:
    """Give panel `index` its place (domains in shares of the plot area), its heading, and settings of its axes."""
    x_key, y_key = layout_names(index)
    x_name, y_name = axis_names(index)
    figure.update_layout(
        {
            x_key: {"domain": list(x), "anchor": y_name, **axes.get("x_axis", {})},
            y_key: {"domain": list(y), "anchor": x_name, **axes.get("y_axis", {})},
        }
    )
    if heading:
        figure.add_annotation(
            text=f"<b>{heading}</b>",
            x=x[0],
            y=y[1],
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="bottom",
            yshift=6,
            showarrow=False,
            align="left",
            font={"size": SIZE, "color": INK},
        )
