"""The rule that chose the schedule looks at what was followed, at nothing else, and takes what the protocol says."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.study.calibration import BUDGET, FOLLOWS, choose, grid


def table(**changes: np.ndarray) -> xr.Dataset:
    """The real grid in which every cell follows and no gap is known."""
    cells = grid()
    n = len(cells)
    data = {name: (("cell", "seed"), np.ones((n, 3))) for name in ("followed_up", "followed_down")}
    data["gap_hold_0"] = (("cell", "seed"), np.full((n, 3), np.nan))
    coords = {
        "levels": ("cell", np.array([cell.schedule.levels for cell in cells])),
        "delta": ("cell", np.array([cell.schedule.delta for cell in cells])),
        "dwell": ("cell", np.array([cell.schedule.dwell for cell in cells])),
        "updates": ("cell", np.array([cell.updates for cell in cells])),
    }
    return xr.Dataset(data, coords).assign({k: (("cell", "seed"), v) for k, v in changes.items()})


def test_the_grid_has_every_cell_once() -> None:
    names = [cell.name for cell in grid()]
    assert len(names) == len(set(names)) == 42


def test_most_levels_then_largest_delta_within_the_budget() -> None:
    cell = grid()[choose(table())]
    assert (cell.schedule.shape, cell.schedule.levels, cell.schedule.delta) == ("triangle", 40, 0.4)
    assert cell.updates <= BUDGET


@pytest.mark.parametrize("side", ["followed_up", "followed_down"])
def test_a_cell_must_follow_on_both_sides_on_average_over_seeds(side: str) -> None:
    cells = grid()
    shares = np.ones((len(cells), 3))
    stairs = np.array([cell.schedule.shape == "staircase" for cell in cells])
    shares[~stairs] = FOLLOWS - 0.01
    shares[stairs, 0] = FOLLOWS - 0.2
    cell = cells[choose(table(**{side: shares}))]
    assert (cell.schedule.shape, cell.schedule.levels, cell.schedule.dwell) == ("staircase", 8, 5)


def test_the_gaps_are_not_looked_at() -> None:
    plain = choose(table())
    cells = len(grid())
    for seed in range(3):
        gaps = np.random.default_rng(seed).normal(size=(cells, 3))
        assert choose(table(gap_hold_0=gaps, gap_hold_25=-gaps)) == plain


def test_nothing_follows_is_said() -> None:
    with pytest.raises(ValueError, match="80%"):
        choose(table(followed_up=np.zeros((len(grid()), 3))))
