"""Cross-model patching: maps of layer × role, and swapped layers along the depth."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.heatmap import SITES, heatmap
from hyst_interp.plots.intervals import limits, whiskers
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import ABOVE, BELOW, DIFFERENCE, INK, PAPER, QUIET, SMALL, rgba, themed
from hyst_interp.questions.crossing.measure import MAPS

HEADS = {
    "sufficient": "sufficient: into from above",
    "necessary": "necessary: out of from below",
    "asymmetry": "asymmetry: necessary − sufficient",
}
"""Map → heading of its panel."""
PLOT, TOP, BOTTOM, SIDE, BETWEEN = 280, 92, 56, 40, 84
"""Heights in pixels: a panel, the margins, a heading, between panels one below the other."""


def crossing_map(table: xr.Dataset, stacked: bool = False) -> go.Figure:
    """What moving a cell from one history into the other moves of the gap: sufficient, necessary, and the asymmetry.

    Args:
        table: `questions.crossing.summary.crossing_table`, dims (effect, layer[, head], role), in logits, with the
            site, and the gap as text, in `attrs`. What moves the gap the way of its sign has its sign.
        stacked: panels one below the other instead of side by side.
    """
    chosen = table["estimate"].sel(effect=list(MAPS)).rename(effect="history")
    histories = ["difference" if name == "asymmetry" else name for name in MAPS]
    site = SITES[str(table.attrs["site"])]
    gap = f" (gap {table.attrs['gap']} logits)".replace("-", "−") if "gap" in table.attrs else ""
    words = {"title": f"Moving {site} between the histories{gap}", "quantity": "logits moved", "units": "logits"}
    headings = {"difference": HEADS["asymmetry"]} | {name: HEADS[name] for name in histories[:2]}
    return heatmap(
        chosen.assign_coords(history=histories).assign_attrs(table.attrs | words), stacked, headings, "asymmetry"
    )


def layer_swap_steps(table: xr.Dataset, gap: xr.Dataset, stacked: bool = False) -> go.Figure:
    """The gap along the depth: how much is moved up to every depth, and how much each depth adds.

    Args:
        table: `questions.crossing.summary.layer_swap_table`, dims (quantity, rung).
        gap: `estimate`, `low`, `high` without dims.
        stacked: panels one below the other instead of side by side.
    """
    depths = [str(depth) for depth in table["rung"].values]
    places = list(range(len(depths)))
    plot = 2 * PLOT + BETWEEN + SIDE if stacked else PLOT
    figure = themed("Where along the depth the gap enters", height=plot + TOP + BOTTOM + 60)
    xs = [(0.0, 1.0)] * 2 if stacked else domains(2, 0.09)
    ys = domains(2, (BETWEEN + SIDE) / plot)[::-1] if stacked else [(0.0, 1.0)] * 2
    panels = (("moved by the donor’s layers up to here", ""), ("added at this depth", "added_"))
    for index, (heading, prefix) in enumerate(panels):
        x_name, y_name = axis_names(index)
        where = {"xaxis": x_name, "yaxis": y_name}
        mean = table.sel(quantity="moved" if not prefix else "added")
        sides = [table.sel(quantity=f"{prefix}{side}") for side in ("into_below", "into_above")]
        points = [
            mean["estimate"].values,
            *(direction["estimate"].values for direction in sides),
            [float(gap["estimate"])],
        ]
        ends = limits(np.concatenate(points), [mean["low"].values, mean["high"].values], 0.3)
        for direction, colour, label in zip(
            sides, (BELOW, ABOVE), ("from above into below", "from below into above"), strict=True
        ):
            figure.add_trace(
                go.Scatter(
                    x=places,
                    text=depths,
                    y=direction["estimate"].values,
                    mode="lines+markers" if not prefix else "markers",
                    line={"color": rgba(colour, 0.75), "width": 1.4},
                    marker={"size": 6, "color": rgba(colour, 0.75)},
                    name=label,
                    legendgroup=label,
                    showlegend=index == 0,
                    hovertemplate=f"%{{text}}: %{{y:+.4f}}<extra>{label}</extra>",
                    **where,
                )
            )
        if prefix:
            figure.add_trace(
                go.Bar(
                    x=places,
                    y=mean["estimate"].values,
                    marker={"color": rgba(INK, 0.18), "line": {"width": 0}},
                    width=0.6,
                    showlegend=False,
                    hoverinfo="skip",
                    name="mean of both",
                    **where,
                )
            )
        for trace in whiskers(mean["low"].values, mean["high"].values, places, INK, ends, vertical=True):
            figure.add_trace(trace.update(where))
        figure.add_trace(
            go.Scatter(
                x=places,
                text=depths,
                y=mean["estimate"].values,
                mode="lines+markers" if not prefix else "markers",
                line={"color": INK, "width": 2},
                marker={"size": 8, "symbol": "diamond", "color": INK, "line": {"color": PAPER, "width": 1}},
                name="mean of both, with interval",
                legendgroup="mean",
                showlegend=index == 0,
                hovertemplate="%{text}: %{y:+.4f}<extra>mean of both directions</extra>",
                **where,
            )
        )
        if not prefix and np.isfinite(float(gap["estimate"])):
            line = {"color": DIFFERENCE, "width": 1.4, "dash": "dash"}
            level = {"y0": float(gap["estimate"]), "y1": float(gap["estimate"]), "yref": y_name}
            span = {"x0": 0, "x1": 1, "xref": f"{x_name} domain"}
            figure.add_shape(type="line", line=line, layer="below", **level, **span)
            figure.add_annotation(
                text="the gap",
                x=0,
                xref=f"{x_name} domain",
                y=float(gap["estimate"]),
                yref=y_name,
                xanchor="left",
                yanchor="bottom",
                font={"size": SMALL, "color": DIFFERENCE},
            )
        set_panel(
            figure,
            index,
            xs[index],
            ys[index],
            heading,
            x_axis={"tickangle": -40, "tickvals": places, "ticktext": depths, "range": [-0.6, len(depths) - 0.4]},
            y_axis={
                "title": {"text": "logits" if stacked or index == 0 else ""},
                "range": list(ends),
                "zeroline": True,
                "zerolinecolor": QUIET,
            },
        )
    top = TOP + (44 if stacked else 0)  # the legend takes a line an entry where it is narrow
    figure.update_layout(height=plot + top + BOTTOM + 60)
    return figure.update_layout(
        margin={"t": top, "b": BOTTOM + 60}, title={"y": 1, "yanchor": "top"}, legend={"y": 1 + 26 / plot}
    )
