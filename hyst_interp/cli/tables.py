"""How numbers are laid out for people: 80 columns, an interval beside every number, a bar where it helps.

`rich` draws the tables and colours; it is imported here alone, when a table is wanted.
"""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from hyst_interp.cli.output import WIDTH

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def paragraph(text: str, indent: str = "", hang: str | None = None) -> str:
    """Text filled to the width; later lines are indented by `hang`."""
    hang = indent if hang is None else hang
    return "\n".join(textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=hang))


def number(value: float | None, decimals: int = 3) -> str:
    """A signed number in at most seven characters, fewer decimals for larger ones; `·` for none."""
    if value is None:
        return "·"
    while decimals > 0 and abs(value) >= 10 ** (4 - decimals):
        decimals -= 1
    if abs(value) >= 1e5:
        return f"{value:+.0e}"
    return f"{value + 0.0:+.{decimals}f}"


def estimate_text(entry: dict[str, Any], decimals: int = 3, undefined: str = "undefined") -> str:
    """An estimate (as a dictionary) with its interval: `+0.123 [+0.101, +0.145]`."""
    if entry["estimate"] is None:
        return undefined
    if entry["low"] is None or entry["high"] is None:
        return f"{number(entry['estimate'], decimals)} (no interval)"
    return (
        f"{number(entry['estimate'], decimals)} [{number(entry['low'], decimals)}, {number(entry['high'], decimals)}]"
    )


class Bars:
    """Bars of one column on one scale, with a common zero; what exceeds `limit` ends in an arrow."""

    def __init__(self, values: Sequence[float | None], width: int, limit: float | None = None) -> None:
        known = [value for value in values if value is not None and math.isfinite(value)]
        largest = min(max((abs(value) for value in known), default=0.0), limit or math.inf)
        below = min(largest, -min([*known, 0.0]))
        above = min(largest, max([*known, 0.0]))
        span = below + above
        cells = width - 1
        self.left = 0 if not span else min(cells, math.ceil(cells * below / span - 1e-9))
        self.right = cells - self.left
        room = [side / size for side, size in ((self.left, below), (self.right, above)) if size > 0]
        self.scale = min(room, default=0.0)

    def draw(self, value: float | None) -> str:
        """The bar of one value, always as wide as the others."""
        length = 0.0 if value is None else abs(value) * self.scale
        left, right = " " * self.left, " " * self.right
        if value is not None and value < 0:
            halves = round(length * 2)
            drawn = "▐" * (halves % 2) + "█" * (halves // 2)
            left = ("◀" + "█" * (self.left - 1)) if len(drawn) > self.left else drawn.rjust(self.left)
        elif value is not None and value > 0:
            eighths = round(length * 8)
            drawn = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
            right = ("█" * (self.right - 1) + "▶") if len(drawn) > self.right else drawn.ljust(self.right)
        return f"{left}│{right}"


def layout(
    head: Sequence[str],
    body: Sequence[Sequence[str] | str],
    align: str,
    colour: bool,
    styles: Sequence[str] = (),
) -> str:
    """A table in at most 80 columns.

    Args:
        head: titles of the columns; may span several lines.
        body: rows of cells; a string is a heading across the table.
        align: `l` or `r` a column.
        styles: a rich style a column, used only with `colour`.
    """
    import io

    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

    rows = [row for row in body if not isinstance(row, str)]
    widths = [
        max(len(line) for cell in (title, *(row[i] for row in rows)) for line in cell.split("\n"))
        for i, title in enumerate(head)
    ]

    def section(header: bool) -> Table:
        """An empty table of these columns; all sections have the same widths, and the first has the titles."""
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_header=header)
        for index, title in enumerate(head):
            table.add_column(
                title,
                justify="right" if align[index] == "r" else "left",
                width=widths[index],
                no_wrap=True,
                overflow="ellipsis",
                style=styles[index] if styles else "",
            )
        return table

    parts: list[Any] = [section(True)]
    for row in body:
        if isinstance(row, str):
            parts += ["", Text(row, "bold", no_wrap=True, overflow="ignore"), section(False)]
        else:
            parts[-1].add_row(*(Text(cell) for cell in row))
    out = io.StringIO()
    console = Console(
        file=out,
        width=WIDTH,
        force_terminal=colour,
        color_system="auto" if colour else None,
        highlight=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
    )
    console.print(
        Group(*(part for part in parts if not isinstance(part, Table) or part.rows or part.show_header)), crop=False
    )
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip("\n").split("\n"))
