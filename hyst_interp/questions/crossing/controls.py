"""What the ends of a layer swap have to be, measured on the results."""

import numpy as np
import xarray as xr


def swap_ends(swapped: xr.Dataset) -> tuple[float, float]:
    """Logits of the first depth against the receiver's own, and of the last against the donor's; both exactly 0."""
    return tuple(float(swapped["end_error"].sel(end=end).max()) for end in ("receiver", "donor"))  # type: ignore[return-value]


def streams_against_swap(patched: xr.Dataset, swapped: xr.Dataset) -> float:
    """The residual stream moved everywhere against the layers swapped below it; 0 but for rounding."""
    depths = [str(depth) for depth in swapped["rung"].values]
    inside = [depth for depth in depths if depth.startswith("L")]
    n_layers = patched.sizes["layer"] - 1
    ends = ["embeddings", *(inside[(layer + 1) * len(inside) // n_layers - 1] for layer in range(n_layers))]
    moved = patched["margin_after"].sel(role="everywhere", drop=True)
    swap = swapped["margin_after"].sel(rung=ends).rename(rung="layer").drop_vars("layer").transpose(*moved.dims)
    return float(np.abs(moved.values.astype(np.float64) - swap.values).max())
