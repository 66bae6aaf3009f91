"""Edges as a small graph, a panel each: what nodes tell one another, from the embedding below to the logits above.

Width is the size of an edge's effect, on one scale in both histories and on one of its own in the difference; colour
is its sign. A head is drawn with three ports for its query, key, and value, so that it can be seen where an edge ends.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.plots.panels import axis_names, domains, set_panel
from hyst_interp.plots.theme import DIFFERENCES, EFFECTS, INK, NAMES, PAPER, QUIET, SMALL, themed

HEADINGS = {
    **NAMES,
    "moved": "mean of both directions",
    "into_below": "from above into from below",
    "into_above": "from below into from above",
    "interaction": "half the difference of directions",
}
"""A panel in words."""
WIDEST, LEAST = 7.0, 0.03
"""Pixels of the widest edge; share of the largest effect below which an edge is not drawn, without a circuit."""
HALF_HEAD, HALF_HEIGHT = 0.32, 0.17
"""Half a head's width, and half a node's height, in the graph's own units."""
PORTS = {"q": -0.2, "k": 0.0, "v": 0.2}
ROW, TOP, BETWEEN, BOTTOM = 92, 96, 50, 44
"""Pixels: a row of nodes, above the panels, between panels, below them."""


@dataclass(frozen=True)
class _Box:
    """A node's middle and half its width."""

    x: float
    y: float
    half: float
    head: bool


def edge_graph(table: xr.Dataset, stacked: bool = False) -> go.Figure:
    """Edges drawn between nodes, for every quantity of a table of edges.

    Args:
        table: dims (quantity, edge): `estimate` in `attrs["units"]`, and where there are any `low`, `high`, and
            `member`, which tells a circuit's edges (in a difference, those of one circuit only are dotted); without it
            edges above 3 % of the largest effect are drawn. Coordinates `source`, `target`, `slot` on `edge`, as
            `questions.edges.measure` names them. `attrs["title"]` gives the title, otherwise it is made from
            `quantity`, `twin`, `direction`.
        stacked: panels one below the other instead of side by side.

    Raises:
        UserError: a table without these.
    """
    _check(table)
    boxes = _layout(table)
    quantities = [str(quantity) for quantity in table["quantity"].values]
    rows = 1 + max(box.y for box in boxes.values())
    side, across = ROW * rows, 1 if stacked else len(quantities)
    down = len(quantities) // across
    heights = down * side + (down - 1) * BETWEEN
    top_margin, bottom = TOP + 20 * stacked, BOTTOM + 44 * stacked
    title = edge_title(table).replace(", ", ",<br>", 1) if stacked else edge_title(table)
    figure = themed(title, height=int(top_margin + heights + bottom))
    columns = domains(across, 0.02)
    reach = max(box.x + box.half for box in boxes.values())
    lines: list[go.Scatter] = []
    shapes: list[dict] = []
    labels: list[dict] = []
    for index, quantity in enumerate(quantities):
        panel = table.sel(quantity=quantity)
        own = quantity == "difference" or quantity == "interaction"
        peers = [name for name in quantities if (name in ("difference", "interaction")) == own]
        largest = float(np.nanmax(np.abs(table["estimate"].sel(quantity=peers).values))) or 1.0
        lines += _edges(index, panel, boxes, largest, own, _one_sided(table) if own else None)
        shapes += _frames(index, boxes)
        labels += _labels(index, boxes)
        top = 1 - (index // across) * (side + BETWEEN) / heights
        frame = {"visible": False, "fixedrange": True}
        heading = f"{HEADINGS.get(quantity, quantity)}<br><span style='font-weight:400;color:{QUIET}'>widest edge "
        heading += f"{largest:.2g} {table.attrs.get('units', '')}</span>"
        set_panel(
            figure,
            index,
            columns[index % across],
            (max(top - side / heights, 0.0), top),
            heading,
            x_axis={**frame, "range": [-1.0, reach + 0.12]},
            y_axis={**frame, "range": [-0.35, rows - 0.55]},
        )
    figure.add_traces(lines)  # all at once: plotly checks everything again with every addition
    notes = [note.to_plotly_json() for note in figure["layout"]["annotations"]]  # type: ignore[index]
    figure.update_layout(shapes=shapes, annotations=[*notes, *labels])
    differences = bool({"difference", "interaction"} & set(quantities))
    _legend(figure, differences, differences and _one_sided(table) is not None, stacked)
    if stacked:
        figure.update_layout(title={"y": 1, "yanchor": "top", "pad": {"l": 12, "t": 24}})
    return figure.update_layout(margin={"l": 12, "r": 12, "t": top_margin, "b": bottom})


def edge_title(table: xr.Dataset) -> str:
    """What a table of edges shows, in a line."""
    attrs = table.attrs
    if "title" in attrs:
        return str(attrs["title"])
    words = f"Edges: {attrs.get('quantity', 'effect')}"
    twin = str(attrs.get("twin", ""))
    if twin == "the other history":
        return words + ", messages of the other history"
    way = {"noise": "corrupted into clean", "denoise": "clean into corrupted"}.get(str(attrs.get("direction")), "")
    return words + (f", {way} ({twin} twin)" if twin else "")


def _check(table: xr.Dataset) -> None:
    needed = {"estimate", "source", "target", "slot", "quantity"}
    if missing := sorted(needed - set(map(str, table.variables))):
        raise UserError(
            f"table has no '{missing[0]}'; give a table of edges with estimate, source, target, and slot, by quantity."
        )
    if set(table["estimate"].dims) != {"quantity", "edge"}:
        raise UserError(f"estimate has dims {', '.join(map(str, table['estimate'].dims))}; give quantity and edge.")


def _layout(table: xr.Dataset) -> dict[str, _Box]:
    """Node → place: the embedding at the bottom, a row of heads a layer, its MLP half a row higher on the right."""
    names = list(dict.fromkeys([*map(str, table["source"].values), *map(str, table["target"].values)]))
    heads = [name for name in names if "H" in name]
    layers = sorted({_layer(name) for name in names if name.startswith("L")})
    width = max([1, *(sum(_layer(head) == layer for head in heads) for layer in layers)])
    middle = (width - 1) / 2
    boxes = {"embed": _Box(middle, 0.0, 0.42, False)}
    for place, layer in enumerate(layers):
        row = 1 + 2 * place
        inside = sorted((head for head in heads if _layer(head) == layer), key=lambda name: int(name.split("H")[1]))
        boxes |= {head: _Box(float(i), float(row), HALF_HEAD, True) for i, head in enumerate(inside)}
        if f"L{layer}MLP" in names:
            boxes[f"L{layer}MLP"] = _Box(width + 0.0, row + 1.0, 0.4, False)
    boxes["logits"] = _Box(middle, 2.0 * len(layers) + 1, 0.42, False)
    return {name: box for name, box in boxes.items() if name in names}


def _layer(name: str) -> int:
    digits = name[1:].split("H")[0].split("M")[0]
    return int(digits) if name.startswith("L") and digits.isdigit() else -1


def _edges(
    index: int,
    one: xr.Dataset,
    boxes: dict[str, _Box],
    largest: float,
    own: bool,
    alone: np.ndarray | None,
) -> list[go.Scatter]:
    """The edges of a panel from faint to strong, those of one circuit `alone` dotted, and what the hover finds."""
    x_name, y_name = axis_names(index)
    place = {"xaxis": x_name, "yaxis": y_name, "showlegend": False}
    scale = DIFFERENCES if own else EFFECTS
    effect = one["estimate"].values
    shown = one["member"].values if "member" in one else np.abs(effect) >= LEAST * largest
    hover: tuple[list[float], list[float], list[str]] = ([], [], [])
    traces = []
    for at in sorted(np.flatnonzero(shown), key=lambda i: abs(effect[i])):
        source, target, slot = (str(one[name].values[at]) for name in ("source", "target", "slot"))
        xs, ys = _curve(boxes, source, target, slot, int(at))
        size = min(abs(float(effect[at])) / largest, 1.0)
        colour = scale[-1][1] if effect[at] > 0 else scale[0][1] if effect[at] < 0 else QUIET
        dotted = alone is not None and bool(alone[at])
        line = {
            "color": colour,
            "width": max(WIDEST * size, 0.8),
            "dash": "dot" if dotted else "solid",
            "simplify": False,
        }
        opacity = 0.3 + 0.6 * size**0.5
        traces.append(go.Scatter(x=xs, y=ys, mode="lines", line=line, opacity=opacity, hoverinfo="skip", **place))
        words = _words(one, int(at)) + ("<br>in one history's circuit only" if dotted else "")
        for share in (0.3, 0.55, 0.85):
            spot = int(share * (len(xs) - 1))
            hover[0].append(xs[spot])
            hover[1].append(ys[spot])
            hover[2].append(words)
    traces.append(
        go.Scatter(
            x=hover[0],
            y=hover[1],
            text=hover[2],
            mode="markers",
            marker={"size": 11, "color": "rgba(0,0,0,0)"},
            hovertemplate="%{text}<extra></extra>",
            name="edges",
            **place,
        )
    )
    return traces


def _one_sided(table: xr.Dataset) -> np.ndarray | None:
    """Which edges are in the circuit of one history and not in the other's; None without circuits of both."""
    if "member" not in table or not {"below", "above"} <= set(map(str, table["quantity"].values)):
        return None
    return table["member"].sel(quantity="below").values ^ table["member"].sel(quantity="above").values


def _words(one: xr.Dataset, at: int) -> str:
    """An edge, its effect, and its interval."""
    name, units = str(one["edge"].values[at]), str(one.attrs.get("units", "logits"))
    words = f"<b>{name}</b><br>{float(one['estimate'].values[at]):+.3f} {units}"
    if "low" in one and "high" in one:
        words += f"<br>[{float(one['low'].values[at]):+.3f}, {float(one['high'].values[at]):+.3f}]"
    return words.replace("-", "−")


def _curve(boxes: dict[str, _Box], source: str, target: str, slot: str, at: int) -> tuple[list[float], list[float]]:
    """From the top of a node to a port at the bottom of another; rows of heads on the way are passed between heads.

    Between its turns a curve is a smooth step, so that it leaves, passes, and arrives upright. `at` shifts it within
    its lane, so that edges in one lane stay apart.
    """
    a, b = boxes[source], boxes[target]
    start, end = (a.x, a.y + HALF_HEIGHT), (b.x + PORTS.get(slot, 0.0), b.y - HALF_HEIGHT)
    turns = [start]
    for row in sorted({box.y for box in boxes.values() if box.head and start[1] < box.y < end[1]}):
        straight = start[0] + (row - start[1]) / (end[1] - start[1]) * (end[0] - start[0])
        n_heads = sum(box.head and box.y == row for box in boxes.values())
        beside = straight > n_heads - 0.5  # the column of MLPs, where no head stands
        lane = straight if beside else max(round(straight + 0.5) - 0.5, -0.5) + 0.025 * (at % 7 - 3)
        turns.append((lane, row))
    turns.append(end)
    share = np.linspace(0, 1, 21)
    xs, ys = [], []
    for (x0, y0), (x1, y1) in pairwise(turns):
        xs.extend(x0 + (x1 - x0) * (3 - 2 * share) * share**2)
        ys.extend(y0 + (y1 - y0) * share)
    return [round(float(x), 3) for x in xs], [round(float(y), 3) for y in ys]


def _frames(index: int, boxes: dict[str, _Box]) -> list[dict]:
    """The nodes of a panel as boxes."""
    x_name, y_name = axis_names(index)
    return [
        {
            "type": "rect",
            "x0": box.x - box.half,
            "x1": box.x + box.half,
            "y0": box.y - HALF_HEIGHT,
            "y1": box.y + HALF_HEIGHT,
            "xref": x_name,
            "yref": y_name,
            "line": {"color": QUIET, "width": 1},
            "fillcolor": PAPER,
            "layer": "above",
        }
        for box in boxes.values()
    ]


def _labels(index: int, boxes: dict[str, _Box]) -> list[dict]:
    """The nodes' names, and the letters of a head's ports."""
    places = [(name, box.x, box.y + 0.055 * box.head, SMALL - 1, INK) for name, box in boxes.items()]
    places += [
        (slot, box.x + shift, box.y - 0.105, 9, QUIET)
        for box in boxes.values()
        if box.head
        for slot, shift in PORTS.items()
    ]
    x_name, y_name = axis_names(index)
    return [
        {"text": text, "x": x, "y": y, "xref": x_name, "yref": y_name, "showarrow": False}
        | {"font": {"size": size, "color": colour}}
        for text, x, y, size, colour in places
    ]


def _legend(figure: go.Figure, differences: bool, dotted: bool, stacked: bool) -> go.Figure:
    """What colours mean, below the panels."""

    def sign(scale: list) -> str:
        up, down = scale[-1][1], scale[0][1]
        return f"<span style='color:{up}'>▬</span> above 0, <span style='color:{down}'>▬</span> below 0"

    words = [f"effects: {sign(EFFECTS)}"]
    words += [f"differences: {sign(DIFFERENCES)}"] if differences else []
    words += ["dotted: in one circuit only"] if dotted else []
    words += ["q, k, v: a head's query, key, value"]
    figure.add_annotation(
        text=("<br>" if stacked else ";  ").join(words),
        x=0,
        y=0,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="top",
        yshift=-10,
        align="left",
        font={"size": SMALL, "color": QUIET},
    )
    return figure
