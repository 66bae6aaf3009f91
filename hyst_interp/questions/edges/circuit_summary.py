"""Circuits over seeds: their sizes at a chosen faithfulness, who belongs to them, and how alike they are.

A circuit is one seed's, data order's, twin's, and history's: the first edges of its ranking that keep the wanted share
on trials that the ranking did not see. Seeds have no common numbering of heads, so membership over seeds is told after
the renaming of `route_rows`. Two circuits' likeness is the share of edges that they have in common (Jaccard), read
between siblings (like branches of one seed on other data orders) and other seeds.
"""

from itertools import combinations

import numpy as np
import xarray as xr
from jaxtyping import Bool

from hyst_interp.analysis.replicates import band, over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions.edges.edge_circuits import FAITHFULNESS
from hyst_interp.questions.edges.graph import Graph
from hyst_interp.questions.edges.summary import Renaming, renamed
from hyst_interp.statistics import Estimate, undefined

UNIT = "share of edges"


def sizes(found: xr.Dataset, wanted: float = FAITHFULNESS) -> xr.DataArray:
    """Edges of the smallest prefix that keeps `wanted`, dims (seed, order, twin, branch); of `route_study.circuits`."""
    reached = found["faithfulness"] >= wanted
    return found["size"][reached.argmax("size")].reset_coords(drop=True).astype("float64").assign_attrs(units="edges")


def random_sizes(found: xr.Dataset, wanted: float = FAITHFULNESS) -> xr.DataArray:
    """The same of random rankings, at the sizes that were measured: dims (seed, order, twin, branch, ranking)."""
    reached = found["floor"] >= wanted
    return found["floor_size"][reached.argmax("floor_size")].reset_coords(drop=True).astype("float64")


def ends(found: xr.Dataset) -> tuple[float, float]:
    """The control: largest |share kept by no edge| and |share kept by all − 1|; both are 0 exactly."""
    whole = found["faithfulness"]
    return float(abs(whole.isel(size=0)).max()), float(abs(whole.isel(size=-1) - 1).max())


def circuit_rows(found: xr.Dataset, wanted: float = FAITHFULNESS) -> list[Row]:
    """One row a twin: `twin`; over seeds the sizes `below`, `above`, `difference`, and `random`, of random rankings."""
    size = per_seed(sizes(found, wanted))
    chance = per_seed(random_sizes(found, wanted).mean(["ranking", "branch"]))
    rows: list[Row] = []
    for twin in found["twin"].values:
        below, above = (size.sel(twin=twin, branch=branch, drop=True).reset_coords(drop=True) for branch in BRANCHES)
        row: Row = {"twin": str(twin), "below": over_seeds(below, "edges"), "above": over_seeds(above, "edges")}
        row["difference"] = over_seeds(below - above, "edges more")
        row["random"] = over_seeds(chance.sel(twin=twin, drop=True).reset_coords(drop=True), "edges")
        rows.append(row)
    return rows


def members(found: xr.Dataset, names: Renaming, graph: Graph, wanted: float = FAITHFULNESS) -> xr.DataArray:
    """Whether an edge belongs to each circuit, dims (seed, order, twin, branch, edge), named as the first seed's."""
    size = sizes(found, wanted)
    inside = found["rank"].drop_vars(["edge", "source", "target", "slot"], errors="ignore") < size
    return renamed(inside.transpose("seed", "order", "twin", "branch", "edge"), names, graph)


def typical(inside: xr.DataArray) -> xr.DataArray:
    """Edges in at least half of the circuits over seeds and orders, dims (twin, history, edge).

    `history` holds below, above, and `difference`, the edges of either.
    """
    often = inside.mean(["seed", "order"]) >= 0.5
    below, above = (often.sel(branch=branch, drop=True) for branch in BRANCHES)
    rows = {"below": below, "above": above, "difference": below | above}
    return xr.concat(list(rows.values()), "history").assign_coords(history=list(rows)).transpose("twin", ...)


def jaccard_of(a: Bool[np.ndarray, " edge"], b: Bool[np.ndarray, " edge"]) -> float:
    """Edges that two circuits share, of all that either has; 1 for two empty circuits."""
    either = int((a | b).sum())
    return float((a & b).sum() / either) if either else 1.0


def overlap_rows(inside: xr.DataArray) -> list[Row]:
    """One row a twin: mean Jaccard overlap of `histories`, its `ceiling` (siblings), and its `floor` (other seeds).

    Floors have no interval: every pair of seeds stands behind two seeds' values.
    """
    rows: list[Row] = []
    for twin in inside["twin"].values:
        one = inside.sel(twin=twin, drop=True).transpose("seed", "order", "branch", "edge").values
        row: Row = {"twin": str(twin)}
        row["histories"] = over_seeds(_seeds([_mean([jaccard_of(o[0], o[1]) for o in seed]) for seed in one]), UNIT)
        siblings = [_siblings(seed) for seed in one]
        row["ceiling"] = (
            over_seeds(_seeds(siblings), UNIT)
            if one.shape[1] > 1
            else undefined("one data order has no siblings", UNIT, len(one))
        )
        row["floor"] = _floor(one)
        rows.append(row)
    return rows


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


def _seeds(values: list[float]) -> xr.DataArray:
    return xr.DataArray(np.array(values), dims="seed")


def faithfulness_bands(found: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Shares kept over seeds: of the rankings, dims (twin, branch, size), and of random ones (twin, floor_size)."""
    return band(per_seed(found["faithfulness"])), band(per_seed(found["floor"].mean(["ranking", "branch"])))
