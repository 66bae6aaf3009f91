"""Transplants and weight moves: figures draw what they are given, 0 at 0 updates included."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.summary import from_estimates, join, summarise
from hyst_interp.questions.transplant.figure import PANELS, transplant_course
from hyst_interp.questions.weights.figure import weight_move_dots
from hyst_interp.statistics import Estimate, student_t, undefined

UPDATES = [0, 1, 5, 100]


@pytest.fixture
def planted_curves() -> xr.DataArray:
    names = list(dict.fromkeys(name for panel in PANELS.values() for name in panel))
    values = np.random.default_rng(2).normal(size=(len(names), len(UPDATES), 3))
    values[names.index("optimizer"), 0] = 0
    return xr.DataArray(
        values, {"quantity": names, "update": UPDATES, "seed": [0, 4, 9]}, ("quantity", "update", "seed")
    )


@pytest.mark.parametrize("stacked", [False, True])
def test_every_curve_is_the_mean_and_starts_at_no_updates(planted_curves, stacked):
    spread = summarise(planted_curves)
    figure = transplant_course(planted_curves, spread, stacked)
    for index, panel in enumerate(PANELS.values()):
        axis = "x" if index == 0 else f"x{index + 1}"
        for quantity, (name, *_) in panel.items():
            (trace,) = [one for one in figure.data if one.name == name and one.xaxis == axis]
            np.testing.assert_allclose(trace.y, spread["estimate"].sel(quantity=quantity))
            np.testing.assert_allclose(np.expm1(trace.x), UPDATES, atol=1e-9)
        layout = figure.layout["xaxis" if index == 0 else f"xaxis{index + 1}"]
        assert layout.ticktext[0] == "0"
        assert layout.range[0] < 0 < layout.range[1]
        assert any(name in note.text for note in figure.layout.annotations for name in (next(iter(panel.values()))[0],))
    zero = next(one for one in figure.data if one.name == "optimizer")
    assert zero.y[0] == 0


def test_seeds_of_the_gap_are_drawn_and_trials_are_not(planted_curves):
    spread = summarise(planted_curves)
    names = {trace.name for trace in transplant_course(planted_curves, spread).data}
    assert {"seed 0", "seed 4", "seed 9"} <= names
    pair = planted_curves.rename(seed="trial")
    assert not {name for trace in transplant_course(pair, spread).data if (name := str(trace.name)).startswith("seed")}


def test_ticks_that_would_touch_are_left_out(planted_curves):
    many = planted_curves.isel(update=[0] * 60).assign_coords(update=range(60))
    figure = transplant_course(many, summarise(many))
    ticks = np.array(figure.layout.xaxis.tickvals)
    assert 3 < len(ticks) < 30
    assert np.diff(ticks).min() > 0.05 * (ticks[-1] - ticks[0])


def test_one_seed_and_one_moment_in_time_are_drawn(planted_curves):
    one = planted_curves.isel(seed=[0], update=[0])
    assert np.isfinite(transplant_course(one, summarise(one)).layout.yaxis.range).all()


@pytest.fixture
def planted_moves():
    quantities = [f"{kind}{end}" for kind in ("", "all_but_") for end in ("moved", "into_below", "into_above")]
    quantities[0] = "logits_moved"
    groups = ["L0H0 QK", "L0MLP in", "sum over groups", "QK", "MLP in", "sum over families"]
    values = np.arange(36.0).reshape(6, 6) / 100
    columns = [from_estimates([student_t([v - 0.01, v + 0.01], "logits") for v in row], "group") for row in values]
    shares = [Estimate(v, v - 0.1, v + 0.1, 0.95, "by hand", "share", 2) for v in (0.1, 0.2, 1.0, 0.2, 0.3, 0.9)]
    shares[1] = undefined("the gap may be 0", "share", 2)
    moved = join(dict(zip(quantities, columns, strict=True)) | {"share": from_estimates(shares, "group")})
    moved = moved.assign_coords(
        group=groups,
        partition=("group", ["group"] * 3 + ["family"] * 3),
        family=("group", ["QK", "MLP in", "sum", "QK", "MLP in", "sum"]),
    )
    gap = from_estimates([student_t([0.1, 0.12], "logits")], "cell").isel(cell=0)
    return moved, gap


@pytest.mark.parametrize("stacked", [False, True])
def test_one_at_a_time_stands_beside_all_but_one(planted_moves, stacked):
    moved, gap = planted_moves
    figure = weight_move_dots(moved, gap, stacked)
    order = [3, 4, 5, 0, 1, 2]  # kinds first
    for axis, (mean, below) in {"x": (0, 1), "x2": (3, 4)}.items():
        traces = {trace.name: trace for trace in figure.data if trace.xaxis == axis}
        np.testing.assert_allclose(
            traces["mean of both, with interval"].x, moved["estimate"].values[mean, order], rtol=1e-12
        )
        into = np.array(traces["from above into below"].x, dtype=float)
        known = [0, 1, 3, 4]  # the directions of sums are not drawn
        np.testing.assert_allclose(into[known], moved["estimate"].values[below, order][known])
        assert np.isnan(np.delete(into, known)).all()
    assert list(figure.layout.yaxis.ticktext) == [str(moved["group"].values[i]) for i in order]
    lines = [shape for shape in figure.layout.shapes if shape.type == "line"]
    assert [shape.x0 for shape in lines] == pytest.approx([0.11, 0.11])
    texts = [note.text for note in figure.layout.annotations]
    assert ("undefined" in texts) == (not stacked)
    assert ("+0.90 [+0.80, +1.00]" in texts) == (not stacked)
    assert {"<b>one at a time</b>", "<b>all but one</b>"} <= set(texts)
