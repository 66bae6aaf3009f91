"""Rows in a notebook: the HTML table says what the printed one says, and no text becomes markup."""

from html.parser import HTMLParser

import pytest

from hyst_interp.analysis.rows import SHOWN, Column, Rows
from hyst_interp.statistics import student_t

COLUMNS = (
    Column("name", "component"),
    Column("moved", "logits moved"),
    Column("mass", "mass", lambda mass: f"{mass:.2f}"),
)


def planted(n: int = 3, notes: tuple[str, ...] = ()) -> Rows:
    rows = [
        {"name": f"L{i}H0", "moved": student_t([i, i + 1.0], "logits"), "mass": i / 7, "unseen": 1} for i in range(n)
    ]
    return Rows(rows, COLUMNS, notes=notes)


class Cells(HTMLParser):
    """The texts of a table's cells, line by line."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines: list[list[str]] = []
        self._inside = False
        self.feed(html)

    def handle_starttag(self, tag, attrs) -> None:
        if tag == "tr":
            self.lines.append([])
        self._inside = tag in ("td", "th")

    def handle_endtag(self, tag) -> None:
        self._inside = False

    def handle_data(self, data) -> None:
        if self._inside:
            self.lines[-1].append(data)


def test_the_html_table_has_the_titles_and_texts_of_the_printed_one():
    rows = planted()
    head, *lines = Cells(rows._repr_html_()).lines
    assert head == ["component", "logits moved", "mass"]
    for printed, cells in zip(repr(rows).splitlines()[1:], lines, strict=True):
        assert printed.split() == " ".join(cells).split()


def test_long_tables_are_cut_at_the_same_line_and_notes_stand_below():
    rows = planted(SHOWN + 4, ("These two networks only.",))
    assert len(Cells(rows._repr_html_()).lines) == 1 + SHOWN
    html = rows._repr_html_()
    assert html.endswith("<p>… and 4 more</p>\n<p>These two networks only.</p>")
    assert "more" not in planted(SHOWN)._repr_html_()


@pytest.mark.parametrize("text", ["<b>bold</b> & more", "x" * 300])
def test_texts_are_shown_whole_and_as_text(text):
    html = Rows([{"name": text}], COLUMNS[:1], notes=[text])._repr_html_()
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert html.count(escaped) == 2
    assert "<b>" not in html
