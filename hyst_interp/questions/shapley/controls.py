"""What Shapley values have to add up to, measured on the results."""

import xarray as xr


def values_against_gap(found: xr.Dataset) -> float:
    """Σφ against the gap trial by trial, in the donor game 0 but for rounding; of `shapley`."""
    return float(abs(found["shapley"].sum("player") - found["gap"]).max())
