"""Courses: what each branch does along its schedule, beside the best that any network could do at every mixture.

On conflict trials the margin that minimises the expected loss at mixture p is log(p/(1−p)).
"""

import numpy as np
import xarray as xr
from jaxtyping import Float

from hyst_interp.analysis.summary import per_seed
from hyst_interp.history.schedule import Schedule


def best_margin(p: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """log(p/(1−p)), in logits, for mixtures strictly between 0 and 1."""
    return np.log(p / (1 - p))


def branch_margins(trajectory: xr.Dataset) -> xr.DataArray:
    """Mean margins (seed, branch, position) with coordinates `p`, `best_margin` (branch, position), tau, hold."""
    margins = per_seed(trajectory["margin"].astype("float64"))
    best = (("branch", "position"), best_margin(trajectory["p"].transpose("branch", "position").values))
    mixture = trajectory["p"].transpose("branch", "position").variable
    return margins.transpose("seed", "branch", "position").assign_coords(p=mixture, best_margin=best)


def mixtures(schedules: dict[str, Schedule], after: int = 0) -> xr.DataArray:
    """Mixture (branch, update) of every update from 1 on, with `after` further updates at home."""
    rows = [np.concatenate([schedule.p, np.full(after, schedule.p0)]) for schedule in schedules.values()]
    coords = {"branch": list(schedules), "update": np.arange(1, len(rows[0]) + 1)}
    return xr.DataArray(np.stack(rows), coords, ("branch", "update"), attrs={"units": "probability"})
