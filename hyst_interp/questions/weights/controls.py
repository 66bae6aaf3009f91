"""What moving all weights has to give by construction, measured on the results."""

import xarray as xr

from hyst_interp.config.schedule import BRANCHES


def all_weights_moved(patched: xr.Dataset) -> float:
    """Margins with all groups moved against the other history's own, exactly 0; of `weight_patching`."""
    moved, margin = patched["margin_all"], patched["margin"]
    below, above = (
        moved.sel(branch=branch, drop=True) - margin.sel(branch=other, drop=True) for branch, other in _crosswise()
    )
    return float(max(abs(below).max(), abs(above).max()))


def _crosswise() -> tuple[tuple[str, str], tuple[str, str]]:
    return (BRANCHES[0], BRANCHES[1]), (BRANCHES[1], BRANCHES[0])
