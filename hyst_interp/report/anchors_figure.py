"""How the anchors converged: what the criterion saw, until it was met."""

import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import COLOURS, PAPER, QUIET, SMALL, rgba, themed

PANELS = {
    "answer_mass": "answer mass P(c) + P(f)",
    "p_contextual": "P(c)",
    "margin": "margin, logits",
}
"""Variable → what its panel shows."""


def anchor_convergence(evaluations: xr.Dataset, targets: dict[str, float], stacked: bool = False) -> go.Figure:
    """Answer mass, P(c), and margin over updates since initialisation, a line a seed.

    Args:
        evaluations: variables `answer_mass`, `p_contextual`, `margin`, dims (seed, evaluation), with the coordinate
            `step` (seed, evaluation) and `formed_at` (seed,); NaN after a seed's last evaluation.
        targets: variable → the value that the criterion compares it with, drawn as a line.
        stacked: panels one below the other instead of side by side.
    """
    figure = themed("Convergence of the anchors", height=600 if stacked else 270)
    places = domains(len(PANELS), 0.16 if stacked else 0.085)
    colour = COLOURS["anchor"]
    for index, (name, words) in enumerate(PANELS.items()):
        x_name, y_name = axis_names(index)
        for seed in evaluations["seed"].values:
            convergence = evaluations.sel(seed=seed).dropna("evaluation", subset=["step"])
            figure.add_trace(
                go.Scatter(
                    x=convergence["step"].values,
                    y=convergence[name].values,
                    mode="lines+markers",
                    line={"color": rgba(colour, 0.75), "width": 1.4},
                    marker={
                        "size": [0] * (convergence.sizes["evaluation"] - 1) + [8],
                        "symbol": "diamond",
                        "color": colour,
                        "opacity": 1,
                        "line": {"width": 1, "color": PAPER},
                    },
                    xaxis=x_name,
                    yaxis=y_name,
                    name=f"seed {seed}",
                    showlegend=False,
                    hovertemplate=f"update %{{x}}: %{{y:.3f}}<extra>seed {seed}</extra>",
                )
            )
        if name in targets:
            figure.add_shape(
                type="line",
                xref=f"{x_name} domain",
                yref=y_name,
                x0=0,
                x1=1,
                y0=targets[name],
                y1=targets[name],
                line={"color": QUIET, "width": 1, "dash": "dash"},
            )
            figure.add_annotation(
                text=f"{targets[name]:.3g}".replace("-", "−"),
                xref=f"{x_name} domain",
                yref=y_name,
                x=0.02,
                y=targets[name],
                xanchor="left",
                yanchor="top",
                font={"size": SMALL, "color": QUIET},
            )
        x = (0.0, 1.0) if stacked else places[index]
        y = places[-1 - index] if stacked else (0.0, 1.0)
        last = not stacked or index == len(PANELS) - 1
        x_axis = {"title": {"text": "update" if last else ""}, "rangemode": "tozero", "nticks": 5}
        set_panel(figure, index, x, y, words, x_axis=x_axis, y_axis={"nticks": 5})
    return figure.update_layout(margin={"t": 80, "l": 44})
