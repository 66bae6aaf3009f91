"""Estimate: strict JSON, honest gaps, one printed form."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyst_interp.statistics import Estimate, undefined

KEYS = ["estimate", "low", "high", "level", "method", "unit", "n"]
any_float = st.one_of(st.none(), st.floats())


def bounded(estimate: float = 0.0976, low: float = 0.011, high: float = 0.184) -> Estimate:
    return Estimate(estimate, low, high, 0.95, "Student-t", "logits", 5)


@given(any_float, any_float, any_float, st.sampled_from(["interval", "complement", "unbounded"]))
def test_json_never_holds_nan_and_what_is_missing_has_a_reason(estimate, low, high, shape):
    arguments = (estimate, low, high, 0.95, "m", "logits", 5)
    try:
        made = Estimate(*arguments, reason="because", shape=shape)
    except ValueError:
        # Only ends that do not fit the shape may be refused once a reason is given.
        ends = [end for end in (low, high) if end is not None and math.isfinite(end)]
        wrong_order = len(ends) == 2 and ends[0] > ends[1]
        assert wrong_order or (shape == "complement" and len(ends) < 2) or (shape == "unbounded" and ends)
        return
    entry = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert [key for key in entry if key not in ("reason", "shape")] == KEYS
    needed = ["estimate"] if shape == "unbounded" else ["estimate", "low", "high"]
    if any(entry[key] is None for key in needed):
        with pytest.raises(ValueError, match="reason"):
            Estimate(*arguments, shape=shape)
    else:
        assert Estimate(*arguments, shape=shape).to_dict().keys() == entry.keys() - {"reason"}


def test_reason_and_shape_stand_in_json_only_when_needed():
    assert list(bounded().to_dict()) == KEYS
    assert list(undefined("no gap", "ratio", 5).to_dict()) == [*KEYS, "reason"]
    assert Estimate(1.0, None, None, 0.95, "m", "ratio", 5, shape="unbounded").to_dict()["shape"] == "unbounded"


def test_numpy_numbers_become_plain_ones():
    entry = Estimate(np.float64(1), np.float64(0), np.float64(2), 0.95, "m", "logits", 5).to_dict()
    assert [type(entry[key]) for key in KEYS] == [float, float, float, float, str, str, int]


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (bounded(), "+0.0976 [+0.011, +0.184]"),
        (bounded(-0.0, -1234.5, 999.7), "+0 [-1234, +1000]"),
        (undefined("no gap", "ratio", 5), "undefined"),
        (Estimate(1.2, None, None, 0.95, "m", "ratio", 5, shape="unbounded"), "+1.2 (unbounded)"),
        (Estimate(1.2, -3.0, 0.5, 0.95, "m", "ratio", 5, shape="complement"), "+1.2 outside (-3, +0.5)"),
        (Estimate(0.1, None, None, 0.95, "m", "logits", 1, reason="one value"), "+0.1 (no interval)"),
    ],
)
def test_text(estimate, text):
    assert estimate.text() == text


def test_digits():
    assert bounded().text(digits=1) == "+0.1 [+0.01, +0.2]"


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_complement_holds_what_the_interval_leaves_out(first, second, value):
    low, high = sorted((first, second))
    inside = bounded(low, low, high)
    outside = Estimate(low, low, high, 0.95, "m", "logits", 5, shape="complement")
    assert inside.contains(value) == (low <= value <= high) != inside.excludes(value)
    assert outside.contains(value) != outside.excludes(value)
    assert value in (low, high) or inside.contains(value) != outside.contains(value)


def test_undefined_rejects_nothing_and_holds_nothing_and_the_whole_line_holds_all():
    nothing = undefined("no gap", "ratio", 5)
    assert not nothing.contains(0)
    assert not nothing.excludes(0)
    line = Estimate(1.0, None, None, 0.95, "m", "ratio", 5, shape="unbounded")
    assert line.contains(1e300)
    assert not line.excludes(1e300)


def test_half_width_only_of_bounded_intervals():
    assert bounded(1.0, 0.5, 2.5).half_width == 1.0
    assert undefined("no gap", "ratio", 5).half_width is None
    assert Estimate(9.0, -3.0, 0.5, 0.95, "m", "ratio", 5, shape="complement").half_width is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": 2.0, "high": 1.0}, "above"),
        ({"level": 1.5}, "level"),
        ({"n": -1}, "n is -1"),
        ({"shape": "unbounded"}, "unbounded"),
        ({"shape": "complement", "low": None}, "complement"),
        ({"estimate": math.nan}, "reason"),
        ({"high": math.inf}, "reason"),
    ],
)
def test_refusals(changes, message):
    fields = {"estimate": 1.0, "low": 0.0, "high": 2.0, "level": 0.95, "method": "m", "unit": "logits", "n": 5}
    with pytest.raises(ValueError, match=message):
        Estimate(**(fields | changes))


def test_undefined_demands_a_reason():
    with pytest.raises(ValueError, match="reason"):
        undefined("", "ratio", 5)


def test_the_table_of_names_is_light_and_right():
    script = (
        "import sys, hyst_interp.statistics as s\n"
        "assert not {'numpy', 'scipy'} & set(sys.modules)\n"
        "import hyst_interp.statistics.sign_flips, hyst_interp.statistics.equivalences\n"
        "assert all(callable(getattr(s, name)) for name in s.__all__)\n"
        "assert set(s.__all__) == set(s._HOME) <= set(dir(s))\n"
        "assert not {'torch', 'xarray', 'scipy.stats'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_unknown_name_is_refused():
    import hyst_interp.statistics

    with pytest.raises(AttributeError, match="bootstrap"):
        _ = hyst_interp.statistics.bootstrap
