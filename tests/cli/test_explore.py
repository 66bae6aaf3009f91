"""`explore`: one page, the same bytes on every call, and refusals before anything is written."""

import pytest


def test_json_names_what_it_read_and_wrote(both, tmp_path, call):
    out = tmp_path / "explorer.html"
    data = call("explore", *both, "--out", out, "--trials", 2, "--format", "json").json()
    assert data["schema"] == "hyst-interp/explore/1"
    assert data["wrote"] == [str(out)]
    assert [name.rsplit("/", 2)[1:] for name in data["read"]] == [["below", "hold-000"], ["above", "hold-000"]]
    assert (data["trials"], data["layers"], data["heads"]) == (2, 2, 2)
    assert data["bytes"] == len(out.read_bytes())
    assert list(tmp_path.iterdir()) == [out]


def test_the_same_call_writes_the_same_bytes_and_replaces_the_file(both, tmp_path, call):
    pages = []
    for name in ("a.html", "b.html", "b.html"):
        assert call("explore", *both, "--out", tmp_path / name, "--trials", 2).status == 0
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1] == pages[2]


def test_another_seed_asks_other_questions(both, tmp_path, call):
    found = []
    for seed in (3, 4):
        call("explore", *both, "--out", tmp_path / "e.html", "--trials", 2, "--seed", seed)
        found.append((tmp_path / "e.html").read_bytes())
    assert found[0] != found[1]


def test_a_page_that_fails_leaves_nothing(both, tmp_path, call, monkeypatch):
    def fail(*args: object) -> None:
        raise RuntimeError("no page")

    monkeypatch.setattr("hyst_interp.explorer.page._data", fail)
    assert call("explore", *both, "--out", tmp_path / "e.html", "--trials", 2).status == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["table", "csv"])
def test_it_is_readable(format, both, tmp_path, call):
    found = call("explore", *both, "--out", tmp_path / "e.html", "--trials", 1, "--format", format)
    assert (found.status, found.err) == (0, "")
    assert "e.html" in found.out
