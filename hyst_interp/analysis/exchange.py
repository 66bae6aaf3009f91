"""What an exchange between the histories moves of the gap: one way to count, whatever is exchanged.

Something of one history is put into the other, in both directions. What each network's margin then moves is counted
towards the donor, as the gap's sign wants: below − below after, and above after − above. The headline is the mean of
the two directions; half their difference is the interaction. Both directions would be the same if everything that
follows were linear and alike in both histories.
"""

import xarray as xr

from hyst_interp.analysis.summary import summarise
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.references import exchanges


def below_minus_above(values: xr.DataArray) -> xr.DataArray:
    """The difference between the histories, always in this direction; float64, without the dim `branch`."""
    wide = values.astype("float64")
    return wide.sel(branch="below", drop=True) - wide.sel(branch="above", drop=True)


def exchanged(found: xr.Dataset) -> xr.Dataset:
    """Logits moved by every exchange, trials and all further dims kept; float64.

    Args:
        found: `margin` (branch, …) before, and `margin_after` (branch, …), where `branch` is the receiver.

    Returns:
        `gap`; `into_below`, `into_above`; `moved`, their mean; `interaction`, half their difference. Dims in the order
        of `margin_after`, without `branch`.
    """
    before, after = found["margin"].astype("float64"), found["margin_after"].astype("float64")
    below, above = (before.sel(branch=branch, drop=True) for branch in BRANCHES)
    into_below = below - after.sel(branch="below", drop=True)
    into_above = after.sel(branch="above", drop=True) - above
    parts = {
        "gap": below_minus_above(before),
        "into_below": into_below,
        "into_above": into_above,
        "moved": (into_below + into_above) / 2,
        "interaction": (into_below - into_above) / 2,
    }
    values = xr.Dataset({name: part.assign_attrs(units="logits") for name, part in parts.items()})
    return values.transpose(*(dim for dim in after.dims if dim != "branch"))


def whole_gap(found: xr.Dataset) -> xr.Dataset:
    """The gap itself, margin from below − from above, over replicates: a table of one cell; `found` as above."""
    margin = found["margin"].astype("float64")
    gap = margin.sel(branch="below", drop=True) - margin.sel(branch="above", drop=True)
    return summarise(gap, "logits")


def logits_moved(found: xr.Dataset) -> xr.Dataset:
    """Per row and trial (other dims kept): `gap`, `moved`, `gap_after`, and for donors `into_below`, `into_above`.

    For means, moved = gap − gap_after. For donors, moved is the mean of the two directions; gap_after = gap − moved.
    """
    values = exchanged(found)
    donor = found["reference"].isin(exchanges())
    moved = xr.where(donor, values["moved"], values["into_below"] + values["into_above"])
    directions = {name: values[name].where(donor) for name in ("into_below", "into_above")}
    return xr.Dataset({"gap": values["gap"], "moved": moved, "gap_after": values["gap"] - moved} | directions)
