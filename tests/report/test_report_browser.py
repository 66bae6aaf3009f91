"""The report in a real browser: every figure is drawn, nothing complains, and a phone scrolls in one direction only."""

import json
import os
import re
import subprocess
from html import unescape

import pytest

from hyst_interp.plots.browsers import browser_path

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
  var plots = Array.prototype.slice.call(document.querySelectorAll(".plot"));
  var wide = Array.prototype.slice.call(document.querySelectorAll("main *")).filter(function (e) {
    return !e.closest(".scroll, .plot, pre") && e.getBoundingClientRect().right > window.innerWidth + 1;
  });
  parent.postMessage({
    width: window.innerWidth, page: document.documentElement.scrollWidth, plots: plots.length,
    undrawn: plots.filter(function (p) { return !p.querySelector(".main-svg"); }).map(function (p) { return p.id; }),
    outside: plots.filter(function (p) {
      return p.querySelector(".main-svg").getBoundingClientRect().right > window.innerWidth + 1;
    }).map(function (p) { return p.id; }),
    wide: wide.map(function (e) { return e.tagName + " " + e.className; }), problems: window.problems
  }, "*");
}, 1500);
</script>"""
PARENT = """<!doctype html><body><script>
var heard = [];
window.addEventListener("message", function (e) {
  heard.push(e.data); document.getElementById("heard").textContent = JSON.stringify(heard);
});
</script><pre id="heard"></pre>
<iframe src="probe.html" style="width:1280px;height:900px"></iframe>
<iframe src="probe.html" style="width:390px;height:844px;border:0"></iframe></body>"""


@pytest.fixture(scope="module")
def seen(planted_report, tmp_path_factory) -> dict[int, dict]:
    """What the report says of itself at 1280 and at 390 pixels."""
    browser = browser_path()
    if browser is None:
        if os.environ.get("HYST_REQUIRE_BROWSER") == "1":
            pytest.fail("HYST_REQUIRE_BROWSER=1, but no Chrome or Chromium is installed")
        pytest.skip("no Chrome or Chromium is installed; HYST_REQUIRE_BROWSER=1 makes this a failure")
    home = tmp_path_factory.mktemp("browser")
    text = (planted_report[1] / "report.html").read_text("utf-8")
    probe = text.replace("<title>", CATCH + "<title>", 1)
    head, _, tail = probe.rpartition("</body>")
    (home / "probe.html").write_text(head + TELL + "</body>" + tail, "utf-8")
    (home / "parent.html").write_text(PARENT, "utf-8")
    quiet = ["--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--no-sandbox"]
    page = [
        f"--user-data-dir={home / 'profile'}",
        "--virtual-time-budget=15000",
        "--window-size=1400,1000",
        "--dump-dom",
    ]
    done = subprocess.run(
        [browser, *quiet, *page, (home / "parent.html").as_uri()], capture_output=True, text=True, timeout=120
    )
    found = re.search(r'<pre id="heard">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    return {one["width"]: one for one in json.loads(unescape(found[1]) or "[]")}


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_every_figure_is_drawn_and_nothing_complains(seen, width):
    one = seen[width]
    assert one["plots"] > 8
    assert one["undrawn"] == []
    assert one["problems"] == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_no_wider_than_the_window(seen, width):
    one = seen[width]
    assert one["page"] <= width
    assert one["outside"] == []
    assert one["wide"] == []
