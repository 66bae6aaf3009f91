"""The gap as an exact sum of direct terms, beside what replacing the same components moves.

Left, each term as a bar a part (they add up, with their signs) and its sum with an interval; right, on the same scale,
the causal estimates. A direct term leaves out what later layers make of a component, so the two need not be equal.
"""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.intervals import limits, whiskers
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import DIFFERENCE, FAINT, INK, PAPER, QUIET, rgba, themed
from hyst_interp.questions.attenuation.figure import REFERENCES
from hyst_interp.questions.attribution.direct_attribution import SUM

PARTS = {"activation": "#7FA6C9", "readout": "#D9A15B", "scale": "#B9BEC5"}
"""Colour of a part: what is written, how it is read, the final LayerNorm's scale."""
ROW = 27


def direct_forest(direct: xr.Dataset, causal: xr.Dataset | None, stacked: bool = False) -> go.Figure:
    """Direct terms of the gap, by part, and the causal estimates of the same components.

    Args:
        direct: a table, dims (part, term), in logits: the part `sum` is a diamond with its interval, others are bars.
        causal: a table, dims (reference, term), NaN where nothing was replaced, or None.
        stacked: panels one below the other instead of side by side.
    """
    terms = direct.sel(part=SUM)
    parts = direct["estimate"].drop_sel(part=SUM)
    names = [str(name) for name in terms["term"].values]
    n = 1 if causal is None else 2
    height = 150 + ROW * len(names) * (n if stacked else 1) + (90 if stacked and n > 1 else 0)
    figure = themed("The gap as a sum of direct terms, beside what replacements move", height=height)
    xs = [(0.0, 1.0)] * n if stacked else domains(n, 0.05)
    ys = domains(n, 90 / max(height - 200, 1))[::-1] if stacked else [(0.0, 1.0)] * n
    rows = np.arange(len(names))
    span = limits(*_points(terms, parts, causal), 0.4)
    for part in (str(part) for part in parts["part"].values):
        figure.add_trace(
            go.Bar(
                x=parts.sel(part=part).values,
                y=rows,
                orientation="h",
                width=0.62,
                marker={"color": PARTS.get(part, FAINT)},
                name=part,
                hovertemplate=f"%{{customdata}}: %{{x:+.4f}}<extra>{part}</extra>",
                customdata=names,
            )
        )
    _marks(figure, terms, names, rows, INK, "sum, with interval", span, 0)
    if causal is not None:
        references = [str(name) for name in causal["reference"].values]
        lanes = np.linspace(-0.17, 0.17, len(references)) if len(references) > 1 else [0.0]
        for lane, reference in zip(lanes, references, strict=True):
            moved = causal.sel(reference=reference)
            _marks(figure, moved, names, rows + lane, REFERENCES.get(reference, QUIET), reference, span, 1)
    for index, heading in enumerate(("direct, by part", "total, by replacement")[:n]):
        last = not stacked or index == n - 1
        set_panel(
            figure,
            index,
            xs[index],
            ys[index],
            heading,
            x_axis={
                "title": {"text": "logits of the gap" if last else ""},
                "range": list(span),
                "zeroline": True,
                "zerolinecolor": QUIET,
            },
            y_axis={
                "range": [len(names) - 0.4, -0.6],
                "tickvals": list(range(len(names))),
                "ticktext": names,
                "showticklabels": index == 0 or stacked,
                "ticks": "",
                "showline": False,
                "showgrid": True,
                "gridcolor": rgba(FAINT, 0.6),
                "ticklabelstandoff": 6,
            },
        )
    return figure.update_layout(
        barmode="relative",
        margin={"t": 116 if stacked else 108, "l": 66},
        legend={"y": 1 + 36 / max(height - 200, 1)},
    )


def _marks(
    figure: go.Figure,
    estimates: xr.Dataset,
    names: list[str],
    heights: np.ndarray,
    colour: str,
    name: str,
    span: tuple[float, float],
    index: int,
) -> None:
    """Diamonds with whiskers at `heights` of panel `index`."""
    x_name, y_name = axis_names(index)
    for trace in whiskers(estimates["low"].values, estimates["high"].values, heights, colour, span, opacity=0.9):
        figure.add_trace(trace.update(xaxis=x_name, yaxis=y_name))
    known = np.isfinite(estimates["estimate"].values)
    figure.add_trace(
        go.Scatter(
            x=estimates["estimate"].values[known],
            y=np.asarray(heights)[known],
            mode="markers",
            marker={
                "symbol": "diamond" if index == 0 else "circle",
                "size": 8,
                "color": colour if index else DIFFERENCE,
                "line": {"color": PAPER, "width": 1},
            },
            name=name,
            xaxis=x_name,
            yaxis=y_name,
            text=[shown for shown, there in zip(names, known, strict=True) if there],
            hovertemplate=f"%{{text}}: %{{x:+.4f}}<extra>{name}</extra>",
        )
    )


def _points(terms: xr.Dataset, parts: xr.DataArray, causal: xr.Dataset | None) -> tuple[np.ndarray, np.ndarray]:
    """Every number that has to be seen (bars reach the sum of their like-signed parts), and every interval's end."""
    seen, ends = [terms["estimate"].values.ravel()], [terms["low"].values.ravel(), terms["high"].values.ravel()]
    if parts.size:
        seen += [parts.clip(min=0).sum("part").values, parts.clip(max=0).sum("part").values]
    if causal is not None:
        seen.append(causal["estimate"].values.ravel())
        ends += [causal["low"].values.ravel(), causal["high"].values.ravel()]
    points = np.concatenate(seen)
    return points[np.isfinite(points)], np.concatenate(ends)
