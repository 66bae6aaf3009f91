"""The gap after a transplant, divided between weights and optimizer.

Write M[w, o] for the margin of w's weights with o's optimizer state, w and o from {below, above}. The gap is
M[b, b] − M[a, a]; with both orders of exchanging one for the other averaged (Shapley 1953, two players),

    weights   = ½ Σ_o (M[b, o] − M[a, o])        optimizer = ½ Σ_w (M[w, b] − M[w, a])

add up to it. Their interaction, (M[b, b] − M[b, a]) − (M[a, b] − M[a, a]), says how much more the optimizer's
difference does to from below's weights than to from above's; it enters neither sum, for the averages share it equally.

With first and second moments apart there are eight networks M[w, m, v]. `moments` divides the *optimizer effect*
between them (weights exchanged as one block, Owen 1977: the mean of M[·, b, ·] − M[·, a, ·] over the other two, and
likewise for v); `shapley` divides the *gap* between three players of equal right. Both add up exactly; where the
factors interact they need not agree on the weights.

`shared` is the gap when both histories get the very same optimizer state: what the weights alone carry under it.
"""

import xarray as xr

from hyst_interp.config.schedule import BRANCHES

FACTORS = ("weights", "first moment", "second moment")
PAIRS = (("weights", "first moment"), ("weights", "second moment"), ("first moment", "second moment"))
SHARED = ("below's", "above's", "anchor", "reset", "zeroed")
"""Optimizer states that both histories are given in turn."""
_OWNER = {"own": (False, False), "other": (True, True), "first moment": (True, False), "second moment": (False, True)}
"""Cell → whether its first and its second moment are the other history's."""


def owned(transplanted: xr.Dataset) -> xr.DataArray:
    """Margins by whose each part is: dims (weights, first moment, second moment, …), each below or above, float64.

    Args:
        transplanted: `transplant`'s Dataset; further dims (seed, order) are kept.
    """
    margin = transplanted["margin"].astype("float64")
    cells = {tuple(owner): name for name, owner in _OWNER.items()}
    rows = []
    for weights in BRANCHES:
        own = margin.sel(weights=weights, drop=True)
        squares = []
        for first in BRANCHES:
            line = [
                own.sel(optimizer=cells[first != weights, second != weights], drop=True).drop_vars(
                    "what", errors="ignore"
                )
                for second in BRANCHES
            ]
            squares.append(_stack(line, "second moment"))
        rows.append(_stack(squares, "first moment"))
    return _stack(rows, "weights")


def _stack(parts: list[xr.DataArray], dim: str) -> xr.DataArray:
    return xr.concat(parts, dim=dim).assign_coords({dim: list(BRANCHES)})


def _difference(margins: xr.DataArray, factor: str) -> xr.DataArray:
    """below's − above's along one factor."""
    return margins.sel({factor: "below"}, drop=True) - margins.sel({factor: "above"}, drop=True)


def decomposition(transplanted: xr.Dataset) -> xr.Dataset:
    """The gap and its parts, every trial kept; further dims (update, seed, order) too. In logits, float64.

    Variables: `gap`, `weights`, `optimizer` (these two add up to the gap), `interaction`; `moments` (moment) adds up to
    `optimizer`; `shapley` (factor) adds up to the gap; `pairwise` (pair), the interaction of two factors averaged over
    the third; `shared` (state), the gap when both have that optimizer state.
    """
    cube = owned(transplanted)
    whole = _stack([cube.sel({"first moment": b, "second moment": b}, drop=True) for b in BRANCHES], "optimizer")
    bb, ba, ab, aa = (whole.sel(weights=w, optimizer=o, drop=True) for w in BRANCHES for o in BRANCHES)
    shares = {"first moment": _difference(cube, "first moment"), "second moment": _difference(cube, "second moment")}
    moments = [share.mean([d for d in FACTORS if d in share.dims]) for share in shares.values()]
    parts = {
        "gap": bb - aa,
        "weights": ((bb - ab) + (ba - aa)) / 2,
        "optimizer": ((bb - ba) + (ab - aa)) / 2,
        "interaction": (bb - ba) - (ab - aa),
        "moments": xr.concat(moments, dim="moment").assign_coords(moment=["first moment", "second moment"]),
        "shapley": xr.concat([_shapley(cube, factor) for factor in FACTORS], dim="factor").assign_coords(
            factor=list(FACTORS)
        ),
        "pairwise": xr.concat([_pairwise(cube, *pair) for pair in PAIRS], dim="pair").assign_coords(
            pair=[" × ".join(pair) for pair in PAIRS]
        ),
        "shared": _shared(transplanted, {"below's": bb - ab, "above's": ba - aa}),
    }
    units = {"units": "logits"}
    return xr.Dataset({name: part.assign_attrs(units) for name, part in parts.items()}, attrs=transplanted.attrs)


def _shapley(cube: xr.DataArray, factor: str) -> xr.DataArray:
    """One factor's Shapley value: its differences, 1/3 where the other two come from one history, 1/6 else."""
    others = [other for other in FACTORS if other != factor]
    sixths = xr.DataArray([[2.0, 1.0], [1.0, 2.0]], {other: list(BRANCHES) for other in others}, others)
    return (_difference(cube, factor) * sixths).sum(others) / 6


def _pairwise(cube: xr.DataArray, one: str, two: str) -> xr.DataArray:
    """(both below − one below) − (the other below − none), the third factor averaged."""
    third = next(name for name in FACTORS if name not in (one, two))
    return _difference(_difference(cube, one), two).mean(third)


def _shared(transplanted: xr.Dataset, exchanged: dict[str, xr.DataArray]) -> xr.DataArray:
    """The gap under each of `SHARED`."""
    margin = _difference(transplanted["margin"].astype("float64"), "weights")
    gaps = [
        exchanged[name]
        if name in exchanged
        else margin.sel(optimizer=name, drop=True).drop_vars("what", errors="ignore")
        for name in SHARED
    ]
    return xr.concat(gaps, dim="state").assign_coords(state=list(SHARED))
