"""Formats: strict JSON, tidy CSV, tables of at most 80 columns, and bars on one scale."""

import csv
import io
import sys

import pytest

from hyst_interp.cli.output import Answer, finite, to_csv, write
from hyst_interp.cli.tables import Bars, estimate_text, layout, number


def test_nan_is_refused_in_every_format(capsys):
    for format in ("json", "csv"):
        with pytest.raises(ValueError, match=r"nan|JSON"):
            write(Answer({"x": float("nan")}, [{"x": float("nan")}], lambda colour: "", format))
    assert capsys.readouterr().out == ""


def test_finite_keeps_shape_and_drops_what_is_no_number():
    assert finite([[1.0, float("nan")], [float("inf"), -0.0]]) == [[1.0, None], [None, 0.0]]


def test_csv_flattens_and_keeps_every_column():
    rows = [{"a": 1, "b": {"estimate": 0.5, "reason": None}}, {"a": 2, "c": "x, y"}]
    found = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert list(found[0]) == ["a", "b.estimate", "b.reason", "c"]
    assert found[1] == {"a": "2", "b.estimate": "", "b.reason": "", "c": "x, y"}


def test_output_that_a_terminal_cannot_encode_is_replaced(monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    write(Answer({}, [], lambda colour: "τ █ 1"))
    assert narrow.buffer.getvalue() == b"? ? 1\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [0.0, -0.0004, 0.1234, -12.345, 999.96, -1234.5, 98765.4, 3e7, -4e200])
def test_numbers_stay_short(value):
    assert len(number(value)) <= 7
    assert float(number(value)) == pytest.approx(value, rel=0.02, abs=6e-4) or abs(value) > 1e5


def test_undefined_numbers_are_words():
    entry = {"estimate": None, "low": None, "high": None}
    assert estimate_text(entry) == "undefined"
    assert estimate_text(entry | {"estimate": 0.5}) == "+0.500 (no interval)"


@pytest.mark.parametrize("values", [[1.0, 2.0], [-1.0, -3.0], [-1.0, 2.0, None], [0.0, 0.0], [None], []])
def test_bars_are_equally_wide_and_grow_with_the_value(values):
    bars = Bars(values, width=9)
    drawn = [bars.draw(value) for value in values]
    assert all(len(bar) == 9 for bar in drawn)
    assert len({bar.index("│") for bar in drawn}) <= 1
    filled = [sum(c not in " │" for c in bar) for bar in drawn]
    for one, bar in zip(values, filled, strict=True):
        assert bool(bar) == bool(one)


def test_the_largest_bar_fills_its_side_and_more_is_an_arrow():
    assert Bars([1.0, 4.0], width=9).draw(4.0) == "│" + "█" * 8
    assert Bars([1.0, 400.0], width=9, limit=2.0).draw(400.0).endswith("▶")
    assert Bars([-400.0, 1.0], width=9, limit=2.0).draw(-400.0).startswith("◀")


def test_layout_has_no_colour_unless_asked():
    plain = layout(["a", "b"], ["first", ["x", "1"], "second", ["y", "22"]], "lr", colour=False)
    assert "\x1b" not in plain
    assert plain.splitlines() == ["a  b", "", "first", "x  1", "", "second", "y 22"]
    assert "\x1b" in layout(["a"], [["x"]], "l", colour=True)
