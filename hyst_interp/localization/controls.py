"""Controls: what has to be 0 by construction, measured. Each is the largest absolute difference over everything kept.

A control that is not 0 means that two things that should be one are not: the numbers beside it are then worth nothing.
"Exactly" is said where both sides are made by the same operations on the same numbers, "rounding" where they are not.
"""

import numpy as np
import xarray as xr

from hyst_interp.history.schedule import BRANCHES
from hyst_interp.questions.transplant.decomposition import decomposition


def cells_at_no_updates(found: xr.Dataset) -> float | None:
    """Margins of every optimizer cell against `own` at 0 updates, exactly 0; None where 0 was not measured."""
    if 0 not in found["update"].values:
        return None
    margin = found["margin"].sel(update=0)
    return float(abs(margin - margin.sel(optimizer="own", drop=True)).max())


def parts_against_gap(found: xr.Dataset) -> float:
    """What weights and optimizer add up to against the gap; 0 but for rounding."""
    parts = decomposition(found)
    return float(abs(parts["weights"] + parts["optimizer"] - parts["gap"]).max())


def own_against_run(found: xr.Dataset, trajectory: xr.Dataset) -> tuple[float, int] | None:
    """Each history with its own state against the run itself, at the holds and on the trials that both measured.

    The difference, and the number of holds; None where there is no such hold.
    """
    own = found["margin"].sel(optimizer="own", drop=True).rename(weights="branch", update="hold")
    own = own.assign_coords(hold=own["hold"].values.astype(float) + float(found.attrs.get("hold", 0)))
    run = trajectory["margin"].isel(position=np.isfinite(trajectory["hold"].values)).swap_dims(position="hold")
    holds = [hold for hold in own["hold"].values if hold in run["hold"].values]
    if not holds:
        return None
    n = min(own.sizes["trial"], run.sizes["trial"])
    orders = [order for order in own["order"].values if order in run["order"].values]
    dims = ("seed", "order", "branch", "hold", "trial")
    one, two = (
        side.sel(hold=holds, order=orders, branch=list(BRANCHES)).isel(trial=slice(0, n)).transpose(*dims).values
        for side in (own, run)
    )
    return float(np.abs(one.astype(np.float64) - two).max()), len(holds)


def all_weights_moved(found: xr.Dataset) -> float:
    """Margins with all groups moved against the other history's own, exactly 0; of `weight_moves`."""
    moved, margin = found["margin_all"], found["margin"]
    below, above = (
        moved.sel(branch=one, drop=True) - margin.sel(branch=other, drop=True) for one, other in _crosswise()
    )
    return float(max(abs(below).max(), abs(above).max()))


def values_against_gap(found: xr.Dataset) -> float:
    """Σφ against the gap trial by trial, in the donor game 0 but for rounding; of `shapley`."""
    return float(abs(found["shapley"].sum("player") - found["gap"]).max())


def ladder_ends(found: xr.Dataset) -> tuple[float, float]:
    """Logits of the first rung against the receiver's own, and of the last against the donor's; both exactly 0."""
    return tuple(float(found["end_error"].sel(end=end).max()) for end in ("receiver", "donor"))  # type: ignore[return-value]


def streams_against_ladder(crossing: xr.Dataset, ladder: xr.Dataset) -> float:
    """The residual stream moved everywhere against the ladder's rung below it; 0 but for rounding."""
    rungs = [str(rung) for rung in ladder["rung"].values]
    last = [rung for rung in rungs if rung.startswith("L")]
    n_layers = crossing.sizes["layer"] - 1
    ends = ["embeddings", *(last[(layer + 1) * len(last) // n_layers - 1] for layer in range(n_layers))]
    moved = crossing["margin_after"].sel(role="everywhere", drop=True)
    there = ladder["margin_after"].sel(rung=ends).rename(rung="layer").drop_vars("layer").transpose(*moved.dims)
    return float(np.abs(moved.values.astype(np.float64) - there.values).max())


def _crosswise() -> tuple[tuple[str, str], tuple[str, str]]:
    return (BRANCHES[0], BRANCHES[1]), (BRANCHES[1], BRANCHES[0])
