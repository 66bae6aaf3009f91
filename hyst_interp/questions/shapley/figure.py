"""Who carries the gap, and who only works together: a row a player, with its pairs beside it.

On the left a diamond is the player's Shapley value with its interval. Under it a line runs from what the player does
alone (ring) to what goes when it alone is taken away (disc): a green one, towards the gap, is a player that works with
others; a purple one, away from the gap, a player that others stand in for. On the right, in the same rows and colours,
with whom. Colours follow the gap's sign: green is what makes the gap larger, also where the gap is below 0.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.analysis.summary import cell
from hyst_interp.plots.intervals import limits, whiskers
from hyst_interp.plots.panels import set_panel
from hyst_interp.plots.theme import DIFFERENCE, EFFECTS, FAINT, GRID, INK, PAPER, QUIET, SMALL, rgba, themed
from hyst_interp.questions.shapley.summary import SUM
from hyst_interp.references import DONOR, OWN_MEAN
from hyst_interp.statistics import Estimate

TOGETHER, INSTEAD = EFFECTS[-2][1], EFFECTS[1][1]
"""Colour of a last effect that is nearer to the gap's sign than the first, and of one that is farther from it."""
TITLES = {DONOR.name: "Who carries the gap", OWN_MEAN.name: "Whose own mean removes the gap"}
ROW, TOP, STACKED, BOTTOM, BETWEEN, BAR = 28, 92, 110, 58, 132, 100
"""Heights in pixels: a row; above the players, side by side or stacked; below; between stacked panels; the bar."""
HEAD, FOOT = 0.7, 1.6
"""Heights in rows: the strip that names the gap, and the sum with its rule."""
UP, DOWN = -0.14, 0.22
"""Where a row's diamond and its dumbbell stand, in rows from its middle."""


def shapley_dumbbells(
    players: xr.Dataset, pairs: xr.Dataset | None = None, game: str = DONOR.name, stacked: bool = False
) -> go.Figure:
    """Shapley values with intervals, first and last effects, shares of the gap, and the interactions of pairs.

    Args:
        players: a table, dims (quantity, player), logits, with quantities `shapley`, `first`, `last`, and `share`, and
            the player `sum`, whose `gap` is drawn as a line.
        pairs: a table, dims (player_a, player_b); left out where pairs were not measured.
        game: `donor` or `own-mean`; said in the title.
        stacked: pairs below the players instead of beside them.
    """
    gap = cell(players, player=SUM, quantity="gap")
    single = [str(name) for name in players["player"].values if str(name) != SUM]
    heights = players["estimate"].sel(quantity="shapley", player=single).values
    towards = -1.0 if (gap.estimate or 0.0) < 0 else 1.0
    order = [single[i] for i in np.argsort(-towards * heights, kind="stable")]
    n = len(order)
    plot = ROW * (HEAD + n + FOOT)
    total = plot + (BETWEEN + ROW * n if stacked and pairs is not None else 0)
    top, bottom = STACKED if stacked else TOP, BAR if stacked and pairs is not None else BOTTOM
    figure = themed(f"{TITLES.get(game, game)}, and who only works together", height=int(total + top + bottom))
    left = (0.0, 1.0) if stacked or pairs is None else (0.0, 0.42)
    places = [*map(float, range(n)), n + 0.5]
    low, high = _limits(players, gap, order)
    rows = players.sel(player=[*order, SUM])
    _mark_gap(figure, gap)
    _draw_players(figure, rows, towards, (low, high))
    set_panel(
        figure,
        0,
        left,
        (1 - plot / total, 1.0),
        x_axis={"range": [low, high], "title": {"text": "logits, from below − from above"}},
        y_axis={
            "range": [n - 0.5 + FOOT, -0.5 - HEAD],
            "tickvals": places,
            "ticktext": [*order, "<b>Σ φ</b>"],
            "ticks": "",
            "showline": False,
        },
    )
    _key(figure, stacked)
    _shares(figure, rows, places, left[1])
    if pairs is not None:
        first = 1 - (plot + BETWEEN if stacked else ROW * HEAD) / total
        side = (0.0, 1.0) if stacked else (0.65, 1.0)
        bar = 56.0 if stacked else ROW * FOOT + 12
        _draw_pairs(figure, pairs.sel(player_a=order, player_b=order), towards, side, first, total, bar)
        _head_pairs(figure, side[0], first if stacked else 1.0)
    return figure.update_layout(
        margin={"l": 112, "r": 148 if stacked or pairs is None else 16, "t": top, "b": bottom},
        title={"y": 1, "yanchor": "top", "pad": {"l": 12, "t": 18}},
    )


def _limits(players: xr.Dataset, gap: Estimate, order: Sequence[str]) -> tuple[float, float]:
    points = players["estimate"].sel(quantity=["shapley", "first", "last"], player=order).values
    sums = players["estimate"].sel(quantity="shapley", player=SUM).values
    known = np.concatenate([points.ravel(), [float(sums), np.nan if gap.estimate is None else gap.estimate]])
    ends = [players[end].sel(quantity="shapley").values for end in ("low", "high")]
    return limits(known, ends, 0.4)


def _draw_players(figure: go.Figure, rows: xr.Dataset, towards: float, within: tuple[float, float]) -> None:
    names = [str(name) for name in rows["player"].values]
    n = len(names) - 1
    middles = np.arange(n) + DOWN
    diamonds = np.array([*(np.arange(n) + UP), n + 0.5])
    value = {name: rows["estimate"].sel(quantity=name).values for name in ("shapley", "first", "last")}
    zero = {"x0": 0, "x1": 0, "yref": "y domain", "y0": 0, "y1": 1, "line": {"color": QUIET, "width": 1}}
    rule = {"x0": 0, "x1": 1, "xref": "x domain", "y0": n - 0.1, "y1": n - 0.1, "line": {"color": FAINT, "width": 1}}
    for shape in (zero, rule):
        figure.add_shape(type="line", layer="below", **shape)
    needs = towards * (value["last"] - value["first"])[:n] >= 0
    for colour, chosen in ((TOGETHER, needs), (INSTEAD, ~needs)):
        x, y = [], []
        for index in np.flatnonzero(chosen):
            x.extend([value["first"][index], value["last"][index], None])
            y.extend([middles[index], middles[index], None])
        line = {"color": rgba(colour, 0.55), "width": 4}
        figure.add_trace(go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False, name="span"))
    colours = [TOGETHER if together else INSTEAD for together in needs]
    for name, words, fill in (("last", "last to join", colours), ("first", "alone, first to join", PAPER)):
        figure.add_trace(
            go.Scatter(
                x=value[name][:n],
                y=middles,
                mode="markers",
                marker={"symbol": "circle", "size": 7, "color": fill, "line": {"color": colours, "width": 1.6}},
                name=words,
                showlegend=False,
                text=names[:n],
                hovertemplate=f"%{{text}}: %{{x:+.4f}}<extra>{words}</extra>",
            )
        )
    shown = rows.sel(quantity="shapley")
    for trace in whiskers(shown["low"].values, shown["high"].values, diamonds, INK, within, opacity=0.9):
        figure.add_trace(trace)
    figure.add_trace(
        go.Scatter(
            x=value["shapley"],
            y=diamonds,
            mode="markers",
            marker={"size": 9, "symbol": "diamond", "color": INK, "line": {"color": PAPER, "width": 1}},
            name="Shapley value",
            showlegend=False,
            text=names,
            hovertemplate="%{text}: %{x:+.4f}<extra>Shapley value</extra>",
        )
    )


def _key(figure: go.Figure, stacked: bool) -> None:
    works = f'<span style="color:{TOGETHER}">○━● works with others</span>'
    stood = f'<span style="color:{INSTEAD}">○━● others stand in for it</span>'
    ends = "○ alone, first to join   ● last to join"
    lines = (
        ["◆ Shapley value φ, with interval", ends, f"{works}   {stood}"]
        if stacked
        else [f"◆ Shapley value φ, with interval   {ends}", f"{works}   {stood}"]
    )
    _note(figure, "<br>".join(lines), 0.0, 1.0)


def _note(figure: go.Figure, text: str, x: float, y: float, **where) -> None:
    place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "align": "left", "yshift": 6}
    figure.add_annotation(text=text, x=x, y=y, font={"size": SMALL}, **(place | where))


def _mark_gap(figure: go.Figure, gap: Estimate) -> None:
    where = {"xref": "x", "yref": "y domain", "y0": 0, "y1": 1, "layer": "below"}
    if gap.low is not None and gap.high is not None:
        shade = {"fillcolor": rgba(DIFFERENCE, 0.08), "line": {"width": 0}}
        figure.add_shape(type="rect", x0=gap.low, x1=gap.high, **shade, **where)
    if gap.estimate is not None:
        line = {"color": DIFFERENCE, "width": 1.6, "dash": "dash"}
        figure.add_shape(type="line", x0=gap.estimate, x1=gap.estimate, line=line, **where)
        side = {"xanchor": "right", "xshift": -4} if gap.estimate > 0 else {"xanchor": "left", "xshift": 4}
        figure.add_annotation(
            text=f"the gap {_minus(f'{gap.estimate:+.3f}')}",
            x=gap.estimate,
            y=1,
            xref="x",
            yref="y domain",
            yanchor="top",
            font={"size": SMALL, "color": DIFFERENCE},
            **side,
        )


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _shares(figure: go.Figure, rows: xr.Dataset, places: Sequence[float], edge: float) -> None:
    where = {"x": edge, "xref": "paper", "xanchor": "left", "xshift": 8}
    for player, place in enumerate(places):
        text = _share(cell(rows.isel(player=player), quantity="share"))
        font = {"size": SMALL, "color": QUIET if text == "undefined" else INK}
        figure.add_annotation(text=_minus(text), y=place, yref="y", yanchor="middle", font=font, **where)
    _note(figure, f'<span style="color:{QUIET}">share of the gap</span>', edge, 1.0, yanchor="top", xshift=8, yshift=2)


def _share(share: Estimate) -> str:
    """Two decimals: `+0.24 [+0.22, +0.26]`; a small player's share is +0.00, not a power of ten."""
    if share.estimate is None or share.low is None or share.high is None:
        return "undefined"
    number, low, high = (f"{round(value, 2) + 0.0:+.2f}" for value in (share.estimate, share.low, share.high))
    return f"{number} [{low}, {high}]"


def _draw_pairs(
    figure: go.Figure,
    pairs: xr.Dataset,
    towards: float,
    x: tuple[float, float],
    top: float,
    total: float,
    bar: float,
) -> None:
    """A cell a pair, rows as the players'; a dot where the interval leaves out 0; `bar` pixels below, its key."""
    names = [str(name) for name in pairs["player_a"].values]
    middle, low, high = (pairs[name].values for name in ("estimate", "low", "high"))
    known = np.abs(middle[np.isfinite(middle)])
    end = float(known.max()) if known.size and known.max() > 0 else 1.0
    n = len(names)
    bottom = max(top - ROW * n / total, 0.0)
    where = {"xaxis": "x2", "yaxis": "y2"}
    figure.add_trace(
        go.Heatmap(
            z=middle,
            x=list(range(n)),
            y=list(range(n)),
            text=[[f"{a} with {b}" for b in names] for a in names],
            xgap=1,
            ygap=1,
            zmin=-end,
            zmax=end,
            colorscale=EFFECTS,
            reversescale=towards < 0,
            name="interaction",
            hovertemplate="%{text}: %{z:+.4f} logits<extra>interaction</extra>",
            hoverongaps=False,
            colorbar={
                "orientation": "h",
                "x": (x[0] + x[1]) / 2,
                "xanchor": "center",
                "len": (x[1] - x[0]) * 0.8,
                "y": bottom - bar / total,
                "yanchor": "top",
                "ypad": 0,
                "xpad": 0,
                "thickness": 9,
                "outlinewidth": 0,
                "tickfont": {"size": SMALL, "color": QUIET},
                "tickvals": [-end, 0, end],
                "ticktext": [_minus(f"{-end:+.2g}"), "0", f"{end:+.2g}"],
            },
            **where,
        )
    )
    apart = np.argwhere((low > 0) | (high < 0))
    figure.add_trace(
        go.Scatter(
            x=apart[:, 1],
            y=apart[:, 0],
            mode="markers",
            marker={"size": 3, "color": INK},
            hoverinfo="skip",
            showlegend=False,
            name="interval leaves out 0",
            **where,
        )
    )
    edges = {"x0": -0.5, "x1": n - 0.5, "y0": -0.5, "y1": n - 0.5, "xref": "x2", "yref": "y2"}
    figure.add_shape(type="rect", fillcolor=GRID, line={"width": 0}, layer="below", **edges)
    shared = {"showline": False, "ticks": "", "tickvals": list(range(n))}
    short = ["rest" if name == "everything else" else name for name in names]
    beside = x[0] > 0
    set_panel(
        figure,
        1,
        x,
        (bottom, top),
        x_axis={**shared, "ticktext": short, "tickangle": -60, "range": [-0.5, n - 0.5], "automargin": False},
        y_axis={**shared, "ticktext": names, "showticklabels": not beside, "range": [n - 0.5, -0.5]},
    )


def _head_pairs(figure: go.Figure, x: float, y: float) -> None:
    words = "<b>With whom?</b> Interaction of pairs (logits);<br>a dot where the interval leaves out 0"
    _note(figure, words, x, y)
