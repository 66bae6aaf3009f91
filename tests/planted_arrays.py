"""Planted arrays that figures are made from, and the browser that pictures need."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

LABELS = ["k1", "v1", "k2", "v2", "k3", "v3", "q"]
ROLES = ["queried key", "its value", "other keys", "other values", "query"]


def planted_map(site: str, place: str, heads: int = 0, answers: int = 0) -> xr.DataArray:
    """Maps (history[, answer], layer[, head], pos|role): from below −4 … +2, from above larger, the difference."""
    labels = LABELS if place == "pos" else ROLES
    coords: dict = {"layer": list(range(3 if site == "resid_pre" else 2))}
    coords |= {"answer": ["contextual", "fixed"]} if answers else {}
    coords |= {"head": list(range(heads))} if heads else {}
    coords |= {place: labels}
    order = [name for name in ("answer", "layer", "head", place) if name in coords]
    shape = tuple(len(coords[name]) for name in order)
    below = xr.DataArray(np.linspace(-4, 2, int(np.prod(shape))).reshape(shape), {k: coords[k] for k in order}, order)
    above = 1.25 * below
    joined = xr.concat([below, above, below - above], dim="history").assign_coords(
        history=["below", "above", "difference"]
    )
    attrs = {"site": site, "twin": "value", "direction": "denoise", "effect": "raw", "units": "logits"}
    return joined.assign_attrs(attrs)


@pytest.fixture
def patching_maps() -> Callable[..., xr.DataArray]:
    """`patching_maps(site, place, heads, answers)`."""
    return planted_map


@pytest.fixture
def planted_curve() -> xr.DataArray:
    """Gap (seed, position) of two seeds: a schedule of 20 updates that is home from update 16 on, and a hold of 10."""
    position = np.arange(0, 31, 5)
    tau = np.array([np.nan, 0, 0, 0, 4, 9, 14.0])
    hold = np.array([np.nan, np.nan, np.nan, np.nan, 0, 5, 10.0])
    values = np.array([[0, 2, -1, -0.5, 0.1, 0.05, 0.0], [0, 2.2, -1.2, -0.4, 0.14, 0.02, -0.02]])
    return xr.DataArray(
        values,
        {"seed": [3, 7], "position": position, "tau": ("position", tau), "hold": ("position", hold)},
        ("seed", "position"),
        attrs={"holds": [0, 10]},
    )
