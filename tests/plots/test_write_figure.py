"""A figure as a file: pages that need no network, pictures where there is a browser, refusals in one sentence."""

import os
import sys
from html.parser import HTMLParser

import pytest

from hyst_interp.errors import UserError
from hyst_interp.figures import browser_path, heatmap, write_figure
from hyst_interp.plots import write as writing


class Loads(HTMLParser):
    """Collects what a page would load: src and href."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found.extend(str(value) for name, value in attrs if name in ("src", "href"))


@pytest.fixture
def planted_figure(patching_maps):
    return heatmap(patching_maps("resid_pre", "pos"))


def test_a_page_loads_nothing_and_repeats_itself(tmp_path, planted_figure):
    for name in ("a.html", "b.html"):
        write_figure(planted_figure, tmp_path / name)
    text = (tmp_path / "a.html").read_text("utf-8")
    page = Loads()
    page.feed(text)
    assert page.found == []
    assert "plotly.js v" in text
    assert 'name="viewport"' in text
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


@pytest.mark.parametrize("name", ["figure.pdf", "figure", "figure.html.gz"])
def test_another_suffix_is_refused(tmp_path, planted_figure, one_sentence, name):
    with pytest.raises(UserError) as error:
        write_figure(planted_figure, tmp_path / name)
    one_sentence(error.value, name, ".html")
    assert list(tmp_path.iterdir()) == []


def test_no_browser_is_one_sentence_with_the_remedy(tmp_path, planted_figure, one_sentence, monkeypatch):
    monkeypatch.setattr(writing, "browser_path", lambda: None)
    with pytest.raises(UserError) as error:
        write_figure(planted_figure, tmp_path / "figure.png")
    one_sentence(error.value, "Chromium", "hyst-interp[figures]", ".html")
    assert list(tmp_path.iterdir()) == []


def test_no_kaleido_is_the_same_sentence(tmp_path, planted_figure, one_sentence, monkeypatch):
    monkeypatch.setattr(writing, "browser_path", lambda: "/usr/bin/true")
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(UserError) as error:
        write_figure(planted_figure, tmp_path / "figure.svg")
    one_sentence(error.value, "hyst-interp[figures]")


def test_the_browser_is_found_on_the_path_alone(tmp_path, monkeypatch):
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert browser_path() == str(program)
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "missing"))
    assert browser_path() is None
    monkeypatch.setenv("BROWSER_PATH", str(program))
    monkeypatch.setenv("PATH", "")
    assert browser_path() == str(program)


@pytest.mark.browser
def test_a_picture_is_drawn(tmp_path, planted_figure):
    if browser_path() is None and os.environ.get("HYST_REQUIRE_BROWSER") != "1":
        pytest.skip("no Chrome or Chromium is installed; HYST_REQUIRE_BROWSER=1 makes this a failure")
    write_figure(planted_figure, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
