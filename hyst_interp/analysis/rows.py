"""Rows: a table of estimates as a list of dictionaries, which prints as lines and knows the arrays that it is made of.

A notebook shows the same lines as an HTML table. It computes nothing: rows come from tables (`analysis.summary`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.statistics import Estimate

if TYPE_CHECKING:
    import plotly.graph_objects as go

Row = dict[str, Any]
"""One row of a table: labels, plain numbers, and Estimates by name."""
SHOWN = 20
"""Lines that a table prints at most."""


def text_of(value: object) -> str:
    """A value as a cell: an estimate with its interval, a number with three digits, anything else as it is."""
    if isinstance(value, Estimate):
        return value.text()
    if isinstance(value, float):
        return f"{value:.3g}"
    return "–" if value is None else str(value)


def share_text(share: Estimate) -> str:
    """A share at two decimals: `+0.24 [+0.22, +0.26]`; a small one is +0.00, not a power of ten; `undefined`."""
    if share.estimate is None or share.low is None or share.high is None:
        return "undefined"
    number, low, high = (f"{round(value, 2) + 0.0:+.2f}" for value in (share.estimate, share.low, share.high))
    return f"{number} [{low}, {high}]"


@dataclass(frozen=True)
class Column:
    """One column of the printed table."""

    key: str
    """Key of the rows."""
    title: str
    """What stands above it."""
    text: Callable[[Any], str] = text_of
    """How a value is printed."""


class Rows(list[dict[str, Any]]):
    """Rows, a dictionary each, that print as lines, and as a table in a notebook.

    Args:
        rows: dictionaries of words, numbers, and Estimates.
        columns: what is printed of them; the rows can hold more.
        found: the arrays behind the rows, trials kept.
        draw: `stacked` → the figure of the rows.
        beside: name → rows that belong to these.
        notes: sentences under the table.
    """

    def __init__(
        self,
        rows: Iterable[dict[str, Any]],
        columns: Sequence[Column],
        found: xr.Dataset | None = None,
        draw: "Callable[[bool], go.Figure] | None" = None,
        beside: "Mapping[str, Rows] | None" = None,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__(rows)
        self.columns, self.found, self.beside, self.notes = tuple(columns), found, dict(beside or {}), tuple(notes)
        self._draw = draw

    def __repr__(self) -> str:
        table = [[column.title for column in self.columns], *self._texts()]
        widths = [max(len(line[index]) for line in table) for index in range(len(self.columns))]
        lines = [
            " ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table
        ]
        return "\n".join([*lines, *self._below()])

    def _repr_html_(self) -> str:
        """The printed table as HTML, which notebooks show in its place."""
        import pandas  # only a notebook pays for it

        frame = pandas.DataFrame(self._texts(), columns=[column.title for column in self.columns])
        with pandas.option_context("display.max_colwidth", None):  # else long texts are cut short
            table = frame.to_html(index=False, border=0, justify="left")
        return "\n".join([table, *(f"<p>{escape(line)}</p>" for line in self._below())])

    def _texts(self) -> list[list[str]]:
        """The cells that are shown, line by line."""
        return [[column.text(row[column.key]) for column in self.columns] for row in self[:SHOWN]]

    def _below(self) -> list[str]:
        """What stands under the table."""
        rest = [f"… and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return [*rest, *self.notes]

    def figure(self, stacked: bool = False) -> "go.Figure":
        """The rows drawn; `stacked` sets panels one below the other.

        Raises:
            UserError: rows of which there is no figure.
        """
        if self._draw is None:
            raise UserError("these rows have no figure; use the functions of hi.figures.")
        return self._draw(stacked)
