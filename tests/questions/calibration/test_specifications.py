"""The specification curve against plain loops, and its figure, on a planted grid."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.figures import specification_curve
from hyst_interp.questions.calibration.summary import counts, specification
from hyst_interp.statistics import equivalence, student_t


@pytest.fixture
def grid() -> xr.Dataset:
    """Six schedules on five seeds: the gap on arrival grows with the dwell; cell 4 was chosen."""
    random = np.random.default_rng(6)
    mean = np.array([0.2, -0.2, 0.1, -0.1, 0.01, 0.3])
    sizes = {0: mean, 25: -mean / 2, 100: mean / 20}
    gaps = {f"gap_hold_{h}": (("cell", "seed"), m[:, None] + random.normal(0, 0.02, (6, 5))) for h, m in sizes.items()}
    facts = {"delta": [0.2] * 3 + [0.4] * 3, "levels": [1, 2, 4] * 2, "dwell": [5, 10, 20, 40, 20, 10]}
    facts |= {"shape": ["staircase"] * 5 + ["triangle"], "updates": [40, 80, 120, 160, 160, 160]}
    chosen = np.array([0, 0, 0, 0, 1, 0], np.int8)
    extra = {"chosen": ("cell", chosen), "within_budget": ("cell", 1 - chosen), "followed_up": ("cell", mean)}
    coords = {"seed": range(100, 105)} | {name: ("cell", values) for name, values in facts.items()}
    return xr.Dataset(gaps | extra, coords)


def test_cells_are_sorted_and_keep_their_choices(grid):
    found = specification(grid)
    means = grid["gap_hold_0"].values.mean(1)
    order = np.argsort(means)
    np.testing.assert_allclose(found["estimate"].sel(hold=0), means[order])
    for name in ("delta", "levels", "dwell", "shape", "chosen"):
        assert list(found[name].values) == list(grid[name].values[order])
    one = student_t(grid["gap_hold_25"].values[order[0]], "logits")
    first = found.isel(cell=0).sel(hold=25)
    assert [float(first[name]) for name in ("low", "high")] == pytest.approx([one.low, one.high])


def test_signs_are_counted_by_mean_and_by_interval(grid):
    expected = {}
    for hold, sign in ((0, 1), (25, -1)):
        rows = sign * grid[f"gap_hold_{hold}"].values
        certain = sum(student_t(row, "logits").low > 0 for row in rows)
        expected[hold] = (int((rows.mean(1) > 0).sum()), certain, 6)
    rows = grid["gap_hold_100"].values
    gone = sum(equivalence(row, 0.02).verdict == "equivalent" for row in rows)
    expected[100] = (int((np.abs(rows.mean(1)) <= 0.02).sum()), gone, 6)
    assert counts(specification(grid)) == expected
    assert 0 < expected[0][1] < 6


def test_a_hold_that_was_not_measured_is_left_out(grid):
    assert list(specification(grid.drop_vars("gap_hold_25"))["hold"].values) == [0, 100]


@pytest.mark.parametrize("stacked", [False, True])
def test_the_curve_draws_every_cell_and_marks_the_chosen(grid, stacked):
    figure = specification_curve(grid, stacked)
    found = specification(grid)
    points = [t for t in figure.data if t.name in ("the paper's sign holds by its interval", "it does not")]
    for index in range(3):
        pair = points[2 * index : 2 * index + 2]
        drawn = {int(x): y for trace in pair for x, y in zip(trace.x, trace.y, strict=True)}
        np.testing.assert_allclose([drawn[i] for i in range(6)], found["estimate"].values[index])
    place = int(np.flatnonzero(found["chosen"].values)[0])
    marks = [s for s in figure.layout.shapes if s.type == "rect"]
    assert len(marks) == 4
    assert {(s.x0 + s.x1) / 2 for s in marks} == {place}
    squares = next(t for t in figure.data if t.name == "choice")
    assert len(squares.x) == 6 * 4, "each cell has one value of each choice"
    labels = figure.layout.yaxis4.ticktext
    assert {"δ 0.2", "δ 0.4", "triangle", "staircase"} <= set(labels)


def test_one_calibration_seed_is_drawn_without_intervals(grid):
    assert specification_curve(grid.isel(seed=[0])).data
    assert not specification(grid.isel(seed=[0]))["holds"].any()
