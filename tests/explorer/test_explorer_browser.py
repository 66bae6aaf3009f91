"""The explorer in a real browser: menus change the pictures, keys read them, nothing complains, a phone is enough."""

import re

import pytest
from browser import WIDTHS

from hyst_interp.explorer.explorer_data import exploration
from hyst_interp.figures import explorer_page
from hyst_interp.tasks.registry import task_of

TELL = """
  function get(id) { return document.getElementById(id); }
  function state() {
    return ["pattern", "bars", "qk", "ov", "prompt", "answers"].map(function (id) { return get(id).innerHTML; });
  }
  function choose(id, index) {
    var before = state();
    get(id).selectedIndex = index;
    get(id).dispatchEvent(new Event("change", { bubbles: true }));
    return state().map(function (text, i) { return text !== before[i]; });
  }
  told.cells = document.querySelectorAll("#pattern rect").length;
  told.first = get("pattern").querySelector("svg").getAttribute("aria-label");
  told.trial = choose("trial", 1);
  told.head = choose("head", 1);
  told.layer = choose("layer", 0);
  told.difference = choose("history", 2);
  told.last = get("pattern").querySelector("svg").getAttribute("aria-label");
  told.tabs = ["trial", "layer", "head", "history"].map(function (id) {
    get(id).focus();
    return document.activeElement === get(id);
  });
  var svg = get("qk").querySelector("svg");
  svg.focus();
  told.focused = document.activeElement === svg;
  ["ArrowRight", "ArrowRight", "ArrowDown"].forEach(function (key) {
    svg.dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true, cancelable: true }));
  });
  told.read = get("qk").querySelector("[aria-live]").textContent;
  told.page = document.documentElement.scrollWidth;
  told.wide = Array.prototype.filter.call(document.querySelectorAll("main *"), function (e) {
    return !e.closest(".scroll, svg *") && e.getBoundingClientRect().right > window.innerWidth + 1;
  }).map(function (e) { return e.tagName + " " + (e.id || e.className); });
  told.unlabelled = Array.prototype.filter.call(document.querySelectorAll("select"), function (e) {
    return !e.labels.length;
  }).length;
  told.problems = window.problems;
"""
PATTERN, BARS, QK, OV, PROMPT, ANSWERS = range(6)


@pytest.fixture(scope="module")
def seen(small_pair, small_setup, opened) -> dict[int, dict]:
    """What the explorer says of itself at both widths."""
    trials = small_pair.trials.take(slice(0, 3))
    page = explorer_page(exploration(small_pair.below, small_pair.above, trials, task_of(small_setup).permutation))
    return opened(page, TELL, wait=300, budget=5000)


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_every_menu_changes_what_it_names(seen, width):
    one = seen[width]
    assert one["cells"] >= 7 * 7
    assert one["trial"][PATTERN]
    assert one["trial"][PROMPT]
    assert one["trial"][ANSWERS]
    assert not one["trial"][QK]
    for menu in ("head", "layer"):
        assert [one[menu][i] for i in (PATTERN, BARS, QK, OV)] == [True] * 4
        assert not one[menu][ANSWERS]
    assert [one["difference"][i] for i in (PATTERN, QK, OV, ANSWERS)] == [True] * 4
    assert "L1H0, from below" in one["first"]
    assert "L0H1, difference" in one["last"]


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_the_keyboard_is_enough(seen, width):
    one = seen[width]
    assert one["tabs"] == [True] * 4
    assert one["unlabelled"] == 0
    assert one["focused"]
    assert re.fullmatch(r"k1 for k1: [+−]?\d+\.\d{3}", one["read"]), one["read"]


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_complains_and_nothing_sticks_out(seen, width):
    one = seen[width]
    assert one["problems"] == []
    assert one["page"] <= width
    assert one["wide"] == []
