"""The explorer in a real browser: menus change the pictures, keys read them, nothing complains, a phone is enough."""

import json
import os
import re
import subprocess
from html import unescape

import pytest

from hyst_interp.explorer.explorer_data import exploration
from hyst_interp.figures import browser_path, explorer_page
from hyst_interp.tasks.recall import task_of

CATCH = """<script>
window.problems = [];
window.addEventListener("error", function (e) { window.problems.push(String(e.message || e.target.src)); }, true);
window.addEventListener("securitypolicyviolation", function (e) { window.problems.push("blocked " + e.blockedURI); });
["error", "warn"].forEach(function (name) {
  console[name] = function () { window.problems.push(Array.prototype.join.call(arguments, " ")); };
});
</script>"""
TELL = """<script>
setTimeout(function () {
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
  var told = { width: window.innerWidth, cells: document.querySelectorAll("#pattern rect").length };
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
  parent.postMessage(told, "*");
}, 300);
</script>"""
PARENT = """<!doctype html><body><script>
var heard = [];
window.addEventListener("message", function (e) {
  heard.push(e.data); document.getElementById("heard").textContent = JSON.stringify(heard);
});
</script><pre id="heard"></pre>
<iframe src="probe.html" style="width:1280px;height:900px;border:0"></iframe>
<iframe src="probe.html" style="width:390px;height:844px;border:0"></iframe></body>"""
PATTERN, BARS, QK, OV, PROMPT, ANSWERS = range(6)


@pytest.fixture(scope="module")
def seen(small_pair, small_setup, tmp_path_factory) -> dict[int, dict]:
    """What the explorer says of itself at 1280 and at 390 pixels."""
    browser = browser_path()
    if browser is None:
        if os.environ.get("HYST_REQUIRE_BROWSER") == "1":
            pytest.fail("HYST_REQUIRE_BROWSER=1, but no Chrome or Chromium is installed")
        pytest.skip("no Chrome or Chromium is installed; HYST_REQUIRE_BROWSER=1 makes this a failure")
    home = tmp_path_factory.mktemp("explorer")
    trials = small_pair.trials.take(slice(0, 3))
    page = explorer_page(exploration(small_pair.below, small_pair.above, trials, task_of(small_setup).permutation))
    head, _, tail = page.replace("<title>", CATCH + "<title>", 1).rpartition("</body>")
    (home / "probe.html").write_text(head + TELL + "</body>" + tail, "utf-8")
    (home / "parent.html").write_text(PARENT, "utf-8")
    quiet = ["--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--no-sandbox"]
    options = [f"--user-data-dir={home / 'profile'}", "--virtual-time-budget=5000", "--window-size=1400,1000"]
    done = subprocess.run(
        [browser, *quiet, *options, "--dump-dom", (home / "parent.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = re.search(r'<pre id="heard">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    return {one["width"]: one for one in json.loads(unescape(found[1]) or "[]")}


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
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
@pytest.mark.parametrize("width", [1280, 390])
def test_the_keyboard_is_enough(seen, width):
    one = seen[width]
    assert one["tabs"] == [True] * 4
    assert one["unlabelled"] == 0
    assert one["focused"]
    assert re.fullmatch(r"k1 for k1: [+−]?\d+\.\d{3}", one["read"]), one["read"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_complains_and_nothing_sticks_out(seen, width):
    one = seen[width]
    assert one["problems"] == []
    assert one["page"] <= width
    assert one["wide"] == []
