"""One look for all figures: fixed colours for the histories, quiet axes, and type that can be read at 390 pixels.

From below is blue, from above orange, their difference purple, everywhere; the pairs stay apart for the common kinds
of colour blindness. Diverging scales have white at 0. Nothing global is changed: a figure takes the template with
`themed()`.
"""

import plotly.graph_objects as go

BELOW, ABOVE, DIFFERENCE = "#1668A8", "#C25407", "#5B3A8E"
COLOURS = {"below": BELOW, "above": ABOVE, "difference": DIFFERENCE, "anchor": "#4D4D4D"}
"""Colour of a history, of the difference from below − from above, and of what is neither."""
NAMES = {"below": "from below", "above": "from above", "difference": "from below − from above", "anchor": "anchor"}
"""A history in words."""
INK, QUIET, FAINT, PAPER = "#1F2328", "#5A626B", "#D5D9DE", "#FFFFFF"
"""Text, secondary text and reference lines, hairlines, background."""
GRID = "#E4E7EB"
"""Hairlines between the cells of a map."""
FONT = "'Helvetica Neue', Helvetica, 'Liberation Sans', Arial, sans-serif"
SIZE, SMALL = 13, 12
"""Font sizes in pixels: labels; ticks and notes."""

EFFECTS = [
    [0.0, "#5E2A6E"],
    [0.15, "#8A5A9E"],
    [0.35, "#CDB9D8"],
    [0.5, "#FFFFFF"],
    [0.65, "#B5DAB4"],
    [0.85, "#4E9A5B"],
    [1.0, "#155E2E"],
]
"""Diverging scale of effects: purple below 0, green above."""
DIFFERENCES = [
    [0.0, "#8A3A03"],
    [0.15, "#C96A22"],
    [0.35, "#F0C6A0"],
    [0.5, "#FFFFFF"],
    [0.65, "#AECDE6"],
    [0.85, "#3D82BC"],
    [1.0, "#0B4A7E"],
]
"""Diverging scale of differences: orange where from above has more, blue where from below has."""

CONFIG = {"displayModeBar": False, "displaylogo": False, "responsive": True, "scrollZoom": False, "doubleClick": False}
"""plotly.js's configuration on every page: no tool bar, no zoom that would trap a finger."""


def _axis() -> dict:
    return {
        "showgrid": False,
        "showline": True,
        "linecolor": QUIET,
        "linewidth": 1,
        "ticks": "outside",
        "tickcolor": QUIET,
        "ticklen": 4,
        "ticklabelstandoff": 2,
        "tickfont": {"size": SMALL, "color": INK},
        "title": {"font": {"size": SIZE, "color": INK}, "standoff": 8},
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
    }


TEMPLATE = go.layout.Template(
    layout={
        "font": {"family": FONT, "size": SIZE, "color": INK},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "colorway": [BELOW, ABOVE, DIFFERENCE, "#2F7D5B", "#8C6D1F", "#7A7A7A"],
        "title": {"x": 0, "xref": "container", "xanchor": "left", "pad": {"l": 12, "t": 8}, "font": {"size": 16}},
        "margin": {"l": 60, "r": 16, "t": 56, "b": 48},
        "xaxis": _axis(),
        "yaxis": _axis(),
        "legend": {
            "orientation": "h",
            "traceorder": "normal",
            "x": 0,
            "y": 1,
            "xanchor": "left",
            "yanchor": "bottom",
            "font": {"size": SMALL},
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "hoverlabel": {
            "font": {"family": FONT, "size": SMALL},
            "bgcolor": PAPER,
            "bordercolor": QUIET,
            "align": "left",
        },
        "annotationdefaults": {"font": {"size": SIZE, "color": INK}, "showarrow": False},
        "dragmode": False,
        "hovermode": "closest",
    }
)
"""The template of every figure."""


def themed(title: str, height: int, **layout) -> go.Figure:
    """An empty figure with the template, a title that states what is shown, and a height in pixels."""
    return go.Figure(layout={"template": TEMPLATE, "title": {"text": title}, "height": height, **layout})


def rgba(colour: str, opacity: float) -> str:
    """A colour of this module, `#RRGGBB`, made transparent."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"
