"""What the ends of the layer swap have to be, measured on the results."""

import numpy as np
import xarray as xr


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
