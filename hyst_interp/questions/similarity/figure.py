"""How alike the maps of the two histories are, between what siblings reach and what other seeds reach."""

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.theme import DIFFERENCE, FAINT, QUIET, rgba, themed

KINDS = {
    "histories": ("from below against from above", DIFFERENCE, "diamond", 11),
    "ceiling": ("ceiling: siblings, same history on other data", "#1B6E53", "circle", 8),
    "floor": ("floor: other seeds, heads matched", "#8A8F96", "x", 8),
}
"""Kind → name in the legend, colour, symbol, size."""
SITES = {"resid_pre": "residual stream", "result": "heads", "mlp_out": "MLPs", "pattern": "patterns"}
TICKS = {1.0: "0", 0.1: "0.9", 0.01: "0.99", 0.001: "0.999", 1e-4: "0.9999", 1e-5: "0.99999", 1e-6: "≥ 0.999999"}
"""1 − r → r, as the axis is labelled."""


def place_name(attrs: dict) -> str:
    """A site, and the axis of its maps, in words."""
    name = SITES.get(str(attrs["site"]), str(attrs["site"]))
    return f"{name},<br>by {attrs['axis']}" if "axis" in attrs else name


def similarity_dots(unlike: list[xr.DataArray], mark: float = 0.999, stacked: bool = False) -> go.Figure:
    """Pearson r of patching maps, a row a site: between the histories, beside ceiling and floor; a dot a comparison.

    Args:
        unlike: one array a site, 1 − r of every comparison, dims (kind, seed, comparison), with `attrs["site"]` and
            (and, where it is told, `axis`) and kinds histories, ceiling, floor; NaN where there is none.
        mark: an r to mark by a line (the paper's bound).
        stacked: for narrow columns: the legend takes more lines.
    """
    sites = [place_name(site_array.attrs) for site_array in unlike]
    figure = themed(
        "Similarity of patching maps, with ceiling and floor", height=(170 if stacked else 140) + 84 * len(sites)
    )
    values = np.concatenate([site_array.values.ravel() for site_array in unlike])
    values = values[np.isfinite(values)]
    widest = max(float(values.max()) if values.size else 0.1, 2 * (1 - mark))
    narrowest = min(float(values.min()) if values.size else 1e-4, (1 - mark) / 3)
    for order, (kind, (name, colour, symbol, size)) in enumerate(KINDS.items()):
        for row, site_array in enumerate(unlike):
            if kind not in site_array["kind"].values:
                continue
            unlikeness = site_array.sel(kind=kind).transpose("seed", "comparison").values
            seeds = np.repeat([str(seed) for seed in site_array["seed"].values], unlikeness.shape[1])
            known = np.isfinite(unlikeness.ravel())
            figure.add_trace(
                go.Scatter(
                    x=unlikeness.ravel()[known],
                    y=np.full(int(known.sum()), row + 0.24 * (order - 1)),
                    mode="markers",
                    marker={"symbol": symbol, "size": size, "color": rgba(colour, 0.75)},
                    name=name,
                    legendgroup=kind,
                    showlegend=row == 0,
                    text=[
                        f"seed {seed}, r = {1 - value:.6f}"
                        for seed, value in zip(seeds[known], unlikeness.ravel()[known], strict=True)
                    ],
                    hovertemplate=f"%{{text}}<extra>{name}</extra>",
                )
            )
    figure.add_shape(
        type="line",
        x0=1 - mark,
        x1=1 - mark,
        y0=0,
        y1=1,
        yref="paper",
        line={"color": QUIET, "width": 1, "dash": "dash"},
    )
    figure.update_xaxes(
        type="log",
        range=[float(np.log10(widest * 1.8)), float(np.log10(narrowest / 1.8))],
        tickvals=list(TICKS),
        ticktext=list(TICKS.values()),
        showgrid=True,
        gridcolor=FAINT,
        title={"text": "Pearson r over free cells (logarithmic in 1 − r)"},
    )
    figure.update_yaxes(tickvals=list(range(len(sites))), ticktext=sites, range=[len(sites) - 0.5, -0.5], ticks="")
    return figure.update_layout(
        margin={"t": 116 if stacked else 80, "l": 104}, legend={"orientation": "v" if stacked else "h"}
    )
