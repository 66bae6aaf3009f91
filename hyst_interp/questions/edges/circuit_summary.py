"""Circuits over seeds: their sizes at a chosen faithfulness, who belongs to them, and how alike they are.

A circuit is one seed's, data order's, twin's, and history's: the first edges of its ranking that keep the wanted share
on trials that the ranking did not see. Seeds have no common numbering of heads, so membership over seeds is told after
the renaming of `summary`. Two circuits' likeness is the share of edges that they have in common (Jaccard), read
between siblings (like branches of one seed on other data orders) and other seeds.
"""

from itertools import combinations

import numpy as np
import xarray as xr
from jaxtyping import Bool

from hyst_interp.analysis.summary import QUANTITY, from_estimates, join, summarise
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions.edges.edge_circuits import FAITHFULNESS
from hyst_interp.questions.edges.graph import Graph
from hyst_interp.questions.edges.summary import Renaming, renamed
from hyst_interp.statistics import Estimate, undefined

UNIT = "share of edges"


def sizes(kept: xr.Dataset, wanted: float = FAITHFULNESS) -> xr.DataArray:
    """Edges of the smallest prefix that keeps `wanted`, dims (seed, order, twin, branch); of `run_measure.circuits`."""
    reached = kept["faithfulness"] >= wanted
    return kept["size"][reached.argmax("size")].reset_coords(drop=True).astype("float64").assign_attrs(units="edges")


def random_sizes(kept: xr.Dataset, wanted: float = FAITHFULNESS) -> xr.DataArray:
    """The same of random rankings, at the sizes that were measured: dims (seed, order, twin, branch, ranking)."""
    reached = kept["floor"] >= wanted
    return kept["floor_size"][reached.argmax("floor_size")].reset_coords(drop=True).astype("float64")


def ends(kept: xr.Dataset) -> tuple[float, float]:
    """The control: largest |share kept by no edge| and |share kept by all − 1|; both are 0 exactly."""
    whole = kept["faithfulness"]
    return float(abs(whole.isel(size=0)).max()), float(abs(whole.isel(size=-1) - 1).max())


def circuit_table(kept: xr.Dataset, wanted: float = FAITHFULNESS) -> xr.Dataset:
    """The table of circuits' sizes over seeds, dims (quantity, twin): `below`, `above`, their `difference`, `random`.

    `random` are the sizes of random rankings, over both histories.
    """
    size = sizes(kept, wanted)
    parts = {branch: size.sel(branch=branch, drop=True) for branch in BRANCHES}
    tables = {branch: summarise(part, "edges") for branch, part in parts.items()}
    tables["difference"] = summarise(parts["below"] - parts["above"], "edges more")
    tables["random"] = summarise(random_sizes(kept, wanted).mean(["ranking", "branch"]), "edges")
    return join(tables)


def members(kept: xr.Dataset, names: Renaming, graph: Graph, wanted: float = FAITHFULNESS) -> xr.DataArray:
    """Whether an edge belongs to each circuit, dims (seed, order, twin, branch, edge), named as the first seed's."""
    size = sizes(kept, wanted)
    inside = kept["rank"].drop_vars(["edge", "source", "target", "slot"], errors="ignore") < size
    return renamed(inside.transpose("seed", "order", "twin", "branch", "edge"), names, graph)


def typical(inside: xr.DataArray) -> xr.DataArray:
    """Edges in at least half of the circuits over seeds and orders, dims (twin, quantity, edge).

    `quantity` holds below, above, and `difference`, the edges of either, as `edge_table` has them.
    """
    often = inside.mean(["seed", "order"]) >= 0.5
    below, above = (often.sel(branch=branch, drop=True) for branch in BRANCHES)
    sides = {"below": below, "above": above, "difference": below | above}
    return xr.concat(list(sides.values()), QUANTITY).assign_coords({QUANTITY: list(sides)}).transpose("twin", ...)


def jaccard_of(a: Bool[np.ndarray, " edge"], b: Bool[np.ndarray, " edge"]) -> float:
    """Edges that two circuits share, of all that either has; 1 for two empty circuits."""
    either = int((a | b).sum())
    return float((a & b).sum() / either) if either else 1.0


def overlap_table(inside: xr.DataArray) -> xr.Dataset:
    """The table of circuits' Jaccard overlap, dims (quantity, twin): `histories`, `ceiling` (siblings), `floor`.

    Floors (other seeds) have no interval: every pair of seeds stands behind two seeds' values.
    """
    twins = [str(twin) for twin in inside["twin"].values]
    by_twin = inside.transpose("twin", "seed", "order", "branch", "edge").values
    histories = [[_mean([jaccard_of(order[0], order[1]) for order in seed]) for seed in twin] for twin in by_twin]
    tables = {"histories": _over_seeds(histories, twins)}
    if inside.sizes["order"] > 1:
        tables["ceiling"] = _over_seeds([[_siblings(seed) for seed in twin] for twin in by_twin], twins)
    else:
        lonely = undefined("one data order has no siblings", UNIT, inside.sizes["seed"])
        tables["ceiling"] = from_estimates([lonely] * len(twins), "twin", twins)
    tables["floor"] = from_estimates([_floor(twin) for twin in by_twin], "twin", twins)
    return join(tables)


def _over_seeds(values: list[list[float]], twins: list[str]) -> xr.Dataset:
    return summarise(xr.DataArray(values, {"twin": twins}, ("twin", "seed")), UNIT)


def _siblings(seed: Bool[np.ndarray, "order branch edge"]) -> float:
    pairs = [
        jaccard_of(seed[i, branch], seed[j, branch]) for branch in (0, 1) for i, j in combinations(range(len(seed)), 2)
    ]
    return _mean(pairs)


def _floor(one: Bool[np.ndarray, "seed order branch edge"]) -> Estimate:
    pairs = [
        jaccard_of(one[i, order, branch], one[j, order, branch])
        for i, j in combinations(range(len(one)), 2)
        for order in range(one.shape[1])
        for branch in (0, 1)
    ]
    if not pairs:
        return undefined("one seed has no others", UNIT, len(one))
    reason = "pairs of seeds share seeds, so their values are not independent"
    return Estimate(_mean(pairs), None, None, 0.95, "mean over pairs of seeds, heads matched", UNIT, len(one), reason)


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def faithfulness_tables(kept: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Shares kept over seeds: of the rankings, dims (twin, branch, size), and of random ones (twin, floor_size)."""
    return summarise(kept["faithfulness"]), summarise(kept["floor"].mean(["ranking", "branch"]))
