"""Circuit topology: do the same cells matter in both histories (similarity), and how strongly (gain)?

Similarity is a correlation over cells that are not fixed by construction. It is read against a *ceiling*, the same
number for siblings (same schedule, other data), and a *floor*, the same number for other training seeds, with heads
matched within layers. Gain is the slope of one *raw* map on the other: normalised maps have slope 1 by construction.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import xarray as xr
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from hyst_interp.analysis.maps import flat, free_cells, mean_map
from hyst_interp.streams import Stream

FEW_CELLS = 8
"""Below so many free cells a correlation carries no verdict by itself."""


@dataclass(frozen=True)
class Similarity:
    """How alike two maps are over their free cells."""

    pearson: float | None
    spearman: float | None
    distance: float
    """‖map_b − map_a‖ over the free cells, in logits."""
    cells: int
    """Free cells."""
    slope: float | None
    """Gain: slope of map b on map a through the origin, raw effects."""

    @property
    def few(self) -> bool:
        """Whether there are too few cells for a verdict."""
        return self.cells < FEW_CELLS


def similarity(map_a: xr.DataArray | list[xr.DataArray], map_b: xr.DataArray | list[xr.DataArray]) -> Similarity:
    """Pearson and Spearman correlation, distance, and gain of two mean maps (or two lists of maps, joined).

    Raises ValueError where the maps do not have the same cells. Correlations are None for fewer than three cells or
    maps without variation.
    """
    list_a = map_a if isinstance(map_a, list) else [map_a]
    list_b = map_b if isinstance(map_b, list) else [map_b]
    for a, b in zip(list_a, list_b, strict=True):
        if a.dims != b.dims or a.shape != b.shape or a.attrs["site"] != b.attrs["site"]:
            raise ValueError(f"maps have cells {a.dims} {a.shape} and {b.dims} {b.shape}; give maps of one site")
    return compare_vectors(flat(list_a), flat(list_b))


def compare_vectors(a: np.ndarray, b: np.ndarray) -> Similarity:
    """`similarity` of plain vectors of effects; correlations are None below three cells or without variation."""
    varied = len(a) > 2 and np.ptp(a) > 0 and np.ptp(b) > 0
    energy = float(a @ a)
    return Similarity(
        pearson=float(np.corrcoef(a, b)[0, 1]) if varied else None,
        spearman=float(np.corrcoef(rankdata(a), rankdata(b))[0, 1]) if varied else None,
        distance=float(np.linalg.norm(b - a)),
        cells=len(a),
        slope=float(a @ b) / energy if energy > 0 else None,
    )


def matched_similarity(maps_a: list[xr.DataArray], maps_b: list[xr.DataArray]) -> Similarity:
    """Similarity of two seeds' maps after matching heads within each layer (the assignment that correlates best).

    Heads of different seeds have no common numbering; maps without a head axis are compared as they are.
    """
    if "head" not in maps_a[0].dims:
        return similarity(maps_a, maps_b)
    n_layers = maps_a[0].sizes["layer"]
    moved = [source.copy(deep=True) for source in maps_b]
    for layer in range(n_layers):
        rows_a, rows_b = (
            np.concatenate(
                [
                    seed_map.isel(layer=layer).transpose("head", ...).values.reshape(seed_map.sizes["head"], -1)
                    for seed_map in maps
                ],
                axis=1,
            )
            for maps in (maps_a, maps_b)
        )
        order = linear_sum_assignment(-(rows_a @ rows_b.T))[1]
        for moved_map, source in zip(moved, maps_b, strict=True):
            index = {"layer": layer}
            moved_map[index] = source.isel(layer=layer).isel(head=order).values
    return similarity(maps_a, moved)


def gain(below: xr.Dataset, above: xr.Dataset) -> dict[str, float | None]:
    """Engagement of the two histories on raw effects: slope of the map from above on that from below, and the ratio of
    the whole differences (donor − base)."""
    slope = similarity(mean_map(below), mean_map(above)).slope
    full_below = float((below["donor"] - below["base"]).astype("float64").mean())
    full_above = float((above["donor"] - above["base"]).astype("float64").mean())
    return {"slope": slope, "difference_ratio": full_above / full_below if full_below else None}


@dataclass(frozen=True)
class DominantHead:
    """The head whose cells matter most in each history."""

    a: str
    b: str
    same_probability: float
    """Probability, under resampling of trials, that both histories have the same dominant head."""
    tie: bool
    """Whether that probability is below 0.9 on either side."""

    @property
    def same(self) -> bool:
        """Whether the two point estimates name one head."""
        return self.a == self.b


def head_strength(effects: xr.Dataset) -> xr.DataArray:
    """Per head and trial: the effects of its free cells, summed over places, as (layer, head, trial)."""
    array = effects["effect"].astype("float64")
    place = "role" if "role" in array.dims else "pos"
    free = free_cells(effects.attrs, array.isel(trial=0))
    return array.where(free, 0.0).sum(place)


def dominant_head(
    below: list[xr.Dataset], above: list[xr.Dataset], stream: Stream, resamples: int = 500
) -> DominantHead:
    """The head with the largest |mean effect| summed over twins, in both histories, with its stability.

    Trials are resampled together in both histories (they are the same trials), `resamples` times.
    """
    strengths = [[head_strength(effects) for effects in maps] for maps in (below, above)]
    n_trials = strengths[0][0].sizes["trial"]
    names = [f"L{layer}H{head}" for layer in below[0]["layer"].values for head in below[0]["head"].values]
    columns = [[s.values.reshape(-1, n_trials) for s in side] for side in strengths]

    def pick(weights: np.ndarray) -> list[int]:
        return [int(np.argmax(sum(np.abs(strength @ weights) for strength in side))) for side in columns]

    random = stream.generator()
    draws = np.array(
        [
            pick(np.bincount(random.integers(0, n_trials, n_trials), minlength=n_trials) / n_trials)
            for _ in range(resamples)
        ]
    )
    first = pick(np.full(n_trials, 1 / n_trials))
    stable = (draws == np.array(first)).mean(0).min()
    return DominantHead(
        names[first[0]], names[first[1]], float((draws[:, 0] == draws[:, 1]).mean()), bool(stable < 0.9)
    )


def sibling_pairs(orders: int) -> list[tuple[int, int]]:
    """Pairs of data orders whose like branches are siblings."""
    return list(combinations(range(orders), 2))
