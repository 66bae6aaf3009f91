"""What a transplant has to give by construction, measured on its results."""

import numpy as np
import xarray as xr

from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions.transplant.decomposition import decomposition


def cells_at_no_updates(transplanted: xr.Dataset) -> float | None:
    """Margins of every optimizer cell against `own` at 0 updates, exactly 0; None where 0 was not measured."""
    if 0 not in transplanted["update"].values:
        return None
    margin = transplanted["margin"].sel(update=0)
    return float(abs(margin - margin.sel(optimizer="own", drop=True)).max())


def parts_against_gap(transplanted: xr.Dataset) -> float:
    """What weights and optimizer add up to against the gap; 0 but for rounding."""
    parts = decomposition(transplanted)
    return float(abs(parts["weights"] + parts["optimizer"] - parts["gap"]).max())


def own_against_run(transplanted: xr.Dataset, trajectory: xr.Dataset) -> tuple[float, int] | None:
    """Each history with its own state against the run itself, at the holds and on the trials that both measured.

    The difference, and the number of holds; None where there is no such hold.
    """
    own = transplanted["margin"].sel(optimizer="own", drop=True).rename(weights="branch", update="hold")
    own = own.assign_coords(hold=own["hold"].values.astype(float) + float(transplanted.attrs.get("hold", 0)))
    run = trajectory["margin"].isel(position=np.isfinite(trajectory["hold"].values)).swap_dims(position="hold")
    holds = [hold for hold in own["hold"].values if hold in run["hold"].values]
    if not holds:
        return None
    n = min(own.sizes["trial"], run.sizes["trial"])
    orders = [order for order in own["order"].values if order in run["order"].values]
    dims = ("seed", "order", "branch", "hold", "trial")
    own_margins, run_margins = (
        side.sel(hold=holds, order=orders, branch=list(BRANCHES)).isel(trial=slice(0, n)).transpose(*dims).values
        for side in (own, run)
    )
    return float(np.abs(own_margins.astype(np.float64) - run_margins).max()), len(holds)
