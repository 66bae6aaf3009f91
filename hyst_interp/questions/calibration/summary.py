"""The calibration grid as a specification curve: in how many schedules do the paper's signs hold?

The rule that chose the paper preset's schedule looked at none of the gaps that stand here. They are shown for every
cell of the grid, so that a reader sees what another choice would have found.
"""

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import summarise
from hyst_interp.questions.gap.relaxation import MARGIN
from hyst_interp.statistics import equivalence
from hyst_interp.verdicts import Verdict

HOLDS = (0, 25, 100)
CHOICES = ("delta", "levels", "dwell", "shape")
SIGNS = {0: "above 0", 25: "below 0", 100: f"within ±{MARGIN:g}"}
"""Hold → what the paper says of the gap there, as it is counted."""


def gaps(grid: xr.Dataset) -> xr.DataArray:
    """The gap of every schedule, dims (hold, cell, seed), in logits, at the holds that the grid has measured."""
    holds = [hold for hold in HOLDS if f"gap_hold_{hold}" in grid]
    values = xr.concat([grid[f"gap_hold_{hold}"].reset_coords(drop=True) for hold in holds], dim="hold")
    return values.astype("float64").transpose("hold", "cell", "seed").assign_coords(hold=holds)


def specification(grid: xr.Dataset) -> xr.Dataset:
    """Cells by mean gap on arrival: `estimate`, `low`, `high`, `holds` (hold, cell) and the choices as coordinates.

    `holds` says whether the paper's sign holds by interval: above 0 on arrival, below 0 after 25 updates (Student-t
    over seeds), within ±0.02 after 100 (two one-sided tests). `leans` says the same of the mean alone. Holds that the
    grid has not measured are left out.

    Args:
        grid: variables `gap_hold_0`, `gap_hold_25`, `gap_hold_100` (cell, seed) and `chosen`, `within_budget`,
            `followed_up`, `followed_down` (cell), with coordinates `delta`, `levels`, `dwell`, `shape`, `updates`.
    """
    values = gaps(grid)
    holds = [int(hold) for hold in values["hold"].values]
    table = summarise(values, "logits").drop_vars("shape")  # of an interval; here it is a choice of the schedule
    mean, low, high = (table[name].values for name in ("estimate", "low", "high"))
    leans, certain = np.zeros(mean.shape, bool), np.zeros(mean.shape, bool)
    for index, hold in enumerate(holds):
        if hold == 100:
            leans[index] = np.abs(mean[index]) <= MARGIN
            rows = values.values[index]
            certain[index] = [equivalence(row, MARGIN).verdict == Verdict.EQUIVALENT for row in rows]
        else:
            sign = 1 if hold == 0 else -1
            leans[index], certain[index] = sign * mean[index] > 0, (low[index] > 0 if sign > 0 else high[index] < 0)
    curve = table.assign(holds=(("hold", "cell"), certain), leans=(("hold", "cell"), leans))
    facts = [*CHOICES, "updates", "chosen", "within_budget", "followed_up", "followed_down"]
    kept = {
        name: ("cell", grid[name].values) for name in facts if name in grid.variables and grid[name].dims == ("cell",)
    }
    order = np.argsort(mean[0], kind="stable")
    return curve.drop_vars("cell", errors="ignore").assign_coords(kept).isel(cell=order)


def counts(curve: xr.Dataset) -> dict[int, tuple[int, int, int]]:
    """Hold → cells in which the paper's sign holds by the mean, by the interval, and cells in all."""
    n = curve.sizes["cell"]
    return {
        int(hold): (int(curve["leans"].sel(hold=hold).sum()), int(curve["holds"].sel(hold=hold).sum()), n)
        for hold in curve["hold"].values
    }
