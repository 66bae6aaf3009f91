"""The report in a real browser: every figure is drawn, nothing complains, and a phone scrolls in one direction only."""

import pytest
from browser import WIDTHS

TELL = """
  var plots = Array.prototype.slice.call(document.querySelectorAll(".plot"));
  var wide = Array.prototype.slice.call(document.querySelectorAll("main *")).filter(function (e) {
    return !e.closest(".scroll, .plot, pre") && e.getBoundingClientRect().right > window.innerWidth + 1;
  });
  Object.assign(told, {
    page: document.documentElement.scrollWidth, plots: plots.length,
    undrawn: plots.filter(function (p) { return !p.querySelector(".main-svg"); }).map(function (p) { return p.id; }),
    outside: plots.filter(function (p) {
      return p.querySelector(".main-svg").getBoundingClientRect().right > window.innerWidth + 1;
    }).map(function (p) { return p.id; }),
    wide: wide.map(function (e) { return e.tagName + " " + e.className; }), problems: window.problems
  });
"""


@pytest.fixture(scope="module")
def seen(planted_report, opened) -> dict[int, dict]:
    """What the report says of itself at both widths."""
    return opened((planted_report[1] / "report.html").read_text("utf-8"), TELL, wait=1500, budget=15000)


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_drawn_and_nothing_complains(seen, width):
    one = seen[width]
    assert one["plots"] > 8
    assert one["undrawn"] == []
    assert one["problems"] == []


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_no_wider_than_the_window(seen, width):
    one = seen[width]
    assert one["page"] <= width
    assert one["outside"] == []
    assert one["wide"] == []
