"""The one browser of the tests: a page is opened in frames of two widths, and says of itself what a script asks."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from hyst_interp.plots.browsers import browser_path

WIDTHS = (1280, 390)
"""Pixels of the two frames: a desk, and a phone."""
CATCH = """<script>
window.problems = [];
window.addEventListener("error", function (e) { window.problems.push(String(e.message || e.target.src)); }, true);
window.addEventListener("securitypolicyviolation", function (e) { window.problems.push("blocked " + e.blockedURI); });
["error", "warn"].forEach(function (name) {
  console[name] = function () { window.problems.push(Array.prototype.join.call(arguments, " ")); };
});
</script>"""
PARENT = """<!doctype html><body><script>
var heard = [];
window.addEventListener("message", function (e) {
  heard.push(e.data); document.getElementById("heard").textContent = JSON.stringify(heard);
});
</script><pre id="heard"></pre>
<iframe src="probe.html" style="width:1280px;height:900px;border:0"></iframe>
<iframe src="probe.html" style="width:390px;height:844px;border:0"></iframe></body>"""
QUIET = ("--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--no-sandbox")
Opened = Callable[..., dict[int, Any]]


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """`opened(page, script, budget)`: width → what the script, which fills `told`, says after `wait` milliseconds.

    Errors, warnings, and blocked loads of the page are in `window.problems`; `budget` is virtual time in milliseconds.
    """
    browser = browser_path()
    if browser is None:
        if os.environ.get("HYST_REQUIRE_BROWSER") == "1":
            pytest.fail("HYST_REQUIRE_BROWSER=1, but no Chrome or Chromium is installed")
        pytest.skip("no Chrome or Chromium is installed; HYST_REQUIRE_BROWSER=1 makes this a failure")

    def open_page(page: str, script: str, wait: int, budget: int) -> dict[int, Any]:
        home: Path = tmp_path_factory.mktemp("browser")
        tell = (
            f"<script>setTimeout(function () {{ var told = {{ width: window.innerWidth }};\n{script}\n"
            f'parent.postMessage(told, "*"); }}, {wait});</script>'
        )
        head, _, tail = page.replace("<title>", CATCH + "<title>", 1).rpartition("</body>")
        (home / "probe.html").write_text(f"{head}{tell}</body>{tail}", "utf-8")
        (home / "parent.html").write_text(PARENT, "utf-8")
        options = [f"--user-data-dir={home / 'profile'}", f"--virtual-time-budget={budget}", "--window-size=1400,1000"]
        done = subprocess.run(
            [browser, *QUIET, *options, "--dump-dom", (home / "parent.html").as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
        )
        heard = re.search(r'<pre id="heard">(.*?)</pre>', done.stdout, re.S)
        assert heard, done.stderr[-2000:]
        return {one["width"]: one for one in json.loads(unescape(heard[1]) or "[]")}

    return open_page
