"""Tables and figures as the page's template takes them: plain text and JSON, no numbers made here."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

TITLE_ROOM = 40
"""Pixels that a figure's own title takes; on a page the title is text, so the figure gives them back."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str
    note: str = ""
    """Small print under the text."""
    kind: str = ""
    """CSS class."""


@dataclass(frozen=True)
class Table:
    """A table with its caption and notes."""

    caption: str
    head: tuple[str, ...]
    rows: list[list[Cell]]
    notes: tuple[str, ...] = ()
    kind: str = ""
    """CSS class: `cards` reflows on narrow screens; the others scroll."""


@dataclass(frozen=True)
class Figure:
    """A figure with one set of data and two layouts, and its words."""

    name: str
    """Of the file `figures/NAME.html`; its element's id is `figure-NAME`."""
    title: str
    caption: str
    data: str = field(repr=False)
    """JSON of data, wide, and narrow layouts, safe inside a script element."""
    height: int
    narrow_height: int


@dataclass(frozen=True)
class Chapter:
    """A section of the page; its template finds what stands here by name."""

    key: str
    """Of the section's id."""
    title: str
    short: str
    """In the list at the head of the page."""
    tables: dict[str, Table] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    words: dict[str, Any] = field(default_factory=dict)
    """What else the template prints."""
    template: Path | None = None
    """The template's file; by default the one beside the module that makes the chapter, with its name."""

    @property
    def drawn(self) -> dict[str, Figure]:
        """Figures by name."""
        return {figure.name: figure for figure in self.figures}


def cells(*texts: str | Cell) -> list[Cell]:
    """A row: texts as cells."""
    return [text if isinstance(text, Cell) else Cell(text) for text in texts]


def figure(name: str, wide: go.Figure, narrow: go.Figure, caption: str) -> Figure:
    """A figure for the page; `wide` and `narrow` have the same traces."""
    spec = json.loads(str(pio.to_json(wide, validate=False)))
    layouts = {"wide": spec["layout"], "narrow": json.loads(str(pio.to_json(narrow, validate=False)))["layout"]}
    title = str(spec["layout"]["title"]["text"])
    for layout in layouts.values():
        layout.pop("title")
        layout["margin"] = {**layout.get("margin", {}), "t": layout.get("margin", {}).get("t", 56) - TITLE_ROOM}
        layout["height"] -= TITLE_ROOM
    text = json.dumps({"data": spec["data"], **layouts}, ensure_ascii=False, separators=(",", ":"))
    heights = (layouts["wide"]["height"], layouts["narrow"]["height"])
    return Figure(name, title, caption, text.replace("</", "<\\/"), *heights)


def both(name: str, make: Callable[[bool], go.Figure], caption: str) -> Figure:
    """A figure from its maker, which takes `stacked`."""
    return figure(name, make(False), make(True), caption)
