"""The mechanism beside the behaviour as both relax: in logits above, as shares of their values at arrival below.

The left column takes means over trials, which can cancel; the right one root mean squares, which cannot. In the lower
row a full marker says that a mechanism is surely later or earlier than the behaviour, by the rule of
`over_time_summary`.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.plots.band import band_traces
from hyst_interp.plots.intervals import limits
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import DIFFERENCE, INK, PAPER, QUIET, SMALL, themed
from hyst_interp.verdicts import Verdict

Look = tuple[str, str, str]
"""Colour, dash, symbol."""
BEHAVIOUR: Look = (DIFFERENCE, "solid", "circle")
LOOKS: dict[str, Look] = {
    "heads": ("#1F7A54", "solid", "square"),
    "mlps": ("#A3261F", "solid", "diamond"),
    "all": (INK, "dot", "pentagon"),
}
OTHERS: tuple[Look, ...] = (
    ("#946C00", "dash", "triangle-up"),
    ("#00777A", "dash", "triangle-down"),
    ("#D9822B", "dot", "hexagon"),
    ("#7A7A7A", "dot", "star"),
)
"""Looks of residual streams, in turn."""
GLYPHS = {
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "pentagon": "⬟",
    "triangle-up": "▲",
    "triangle-down": "▼",
    "hexagon": "⬢",
    "star": "★",
}
HEADINGS = {
    "mean": ("mean over trials", "share of arrival, means"),
    "rms": ("root mean square over trials", "share of arrival, root mean squares"),
}
"""Measure → heading of its panel in logits, and as shares."""
PLOT, TOP, BOTTOM, BETWEEN = 250, 96, 52, 74
"""Heights in pixels: a panel, the margins, between panels."""


def over_time_course(
    table: xr.Dataset, mechanisms: Sequence[str] = ("heads", "mlps", "all"), stacked: bool = False
) -> go.Figure:
    """Behaviour and mechanisms over updates since the fork, with their intervals, by both measures.

    Args:
        table: `questions.crossing.over_time_summary.over_time_table`, dims (quantity, measure, mechanism, position).
        mechanisms: which to draw, those of `table` among them.
        stacked: panels one below the other instead of two by two.
    """
    known = [str(name) for name in table["mechanism"].values]
    shown = [name for name in mechanisms if name in known]
    others = [name for name in shown if name not in LOOKS]
    looks = {name: LOOKS[name] if name in LOOKS else OTHERS[others.index(name) % len(OTHERS)] for name in shown}
    down = 4 if stacked else 2
    plot = down * PLOT + (down - 1) * BETWEEN
    figure = themed("Does the mechanism relax later than the behaviour?", height=plot + TOP + BOTTOM)
    heights = domains(down, BETWEEN / plot)[::-1]
    panels = [(measure, share) for share in (False, True) for measure in HEADINGS]
    for index, (measure, share) in enumerate(panels):
        panel = table.sel(measure=measure)
        x_name, y_name = axis_names(index)
        where = {"xaxis": x_name, "yaxis": y_name}
        pick = "moved_left" if share else "moved"
        base = panel.sel(quantity="behaviour_left" if share else "behaviour").isel(mechanism=0)
        curves = {"behaviour": (base, BEHAVIOUR)}
        curves |= {name: (panel.sel(quantity=pick, mechanism=name), look) for name, look in looks.items()}
        points = np.concatenate([curve["estimate"].values for curve, _ in curves.values()])
        ends = limits(points, [curve[end].values for curve, _ in curves.values() for end in ("low", "high")], 0.3)
        for name, (curve, look) in curves.items():
            _draw(figure, name, curve, look, share and name != "behaviour", index == 0, where)
        last = stacked or index >= 2
        set_panel(
            figure,
            index,
            (0.0, 1.0) if stacked else domains(2, 0.09)[index % 2],
            heights[index] if stacked else heights[index // 2],
            HEADINGS[measure][share],
            x_axis={"title": {"text": "position: updates since the fork" if last else ""}},
            y_axis={
                "title": {"text": ("share" if share else "logits") if stacked or index % 2 == 0 else ""},
                "range": list(ends),
                "zeroline": True,
                "zerolinecolor": QUIET,
            },
        )
    names = {"behaviour": ("behaviour (the gap)", BEHAVIOUR)} | {name: (name, look) for name, look in looks.items()}
    words = [f'<span style="color:{look[0]}">{GLYPHS[look[2]]} {name}</span>' for name, look in names.values()]
    per_line = 2 if stacked else len(words)
    lines = ["   ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    lines.append(f'<span style="color:{QUIET}">full in the panels of shares: surely later or earlier</span>')
    figure.add_annotation(
        text="<br>".join(lines),
        x=0,
        y=1,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        yshift=26,
        align="left",
        font={"size": SMALL},
    )
    top = TOP + 16 * (len(lines) - 2)
    return figure.update_layout(
        margin={"t": top, "b": BOTTOM}, title={"y": 1, "yanchor": "top"}, height=plot + top + BOTTOM, showlegend=False
    )


def _draw(
    figure: go.Figure, name: str, curve: xr.Dataset, look: Look, judged: bool, legend: bool, where: dict[str, str]
) -> None:
    colour, dash, symbol = look
    x = curve["position"].values
    figure.add_traces(band_traces(x, curve["low"].values, curve["high"].values, colour, **where))
    verdicts = [str(word) for word in curve["verdict"].values] if judged else [""] * len(x)
    sure = [not judged or word in (Verdict.LATER, Verdict.EARLIER) for word in verdicts]
    figure.add_trace(
        go.Scatter(
            x=x,
            y=curve["estimate"].values,
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash},
            marker={
                "size": 8,
                "symbol": symbol,
                "color": [colour if certain else PAPER for certain in sure],
                "line": {"color": colour, "width": 1.5},
            },
            name=name,
            legendgroup=name,
            showlegend=legend,
            text=verdicts,
            hovertemplate=f"position %{{x}}: %{{y:+.4f}} %{{text}}<extra>{name}</extra>",
            **where,
        )
    )
