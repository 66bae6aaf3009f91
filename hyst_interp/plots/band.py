"""A band around a line: two invisible edges with the space between them filled."""

import plotly.graph_objects as go

from hyst_interp.plots.theme import rgba


def band_traces(x, low, high, colour: str, **where) -> list[go.Scatter]:
    """A filled band between `low` and `high` that neither the legend nor the pointer notices."""
    quiet = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, **where}
    return [
        go.Scatter(x=x, y=low, **quiet),
        go.Scatter(x=x, y=high, fill="tonexty", fillcolor=rgba(colour, 0.14), name="interval", **quiet),
    ]
