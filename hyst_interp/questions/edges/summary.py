"""Edges over seeds: tables to draw and to print, from what a study has merged over seeds and data orders.

Heads of different seeds have no common numbering. So an edge's mean over seeds is taken after every seed's heads have
been renamed, within layers, to those of the first: by the one renaming that makes the inner product of both twins' and
both histories' exact effects largest (`edge_similarity.counterparts`). The gap, edge by edge, has no part in it.
A renaming that looks for likeness finds some, so intervals of the twins' effects are a little too narrow.

Kinds of edges need no renaming: all edges from one kind of source (the embedding, a layer's heads, an MLP) into one
kind of input. Their number is the sum of single edges' effects, which need not be what the edges do together.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from jaxtyping import Int

from hyst_interp.analysis.summary import QUANTITY, replicates
from hyst_interp.questions.edges.edge_similarity import counterparts
from hyst_interp.questions.edges.graph import Graph
from hyst_interp.questions.edges.measure import edge_coords
from hyst_interp.questions.edges.pair_summary import edge_table, edges_moved, moved_table
from hyst_interp.sites import component

Renaming = Mapping[int, Int[np.ndarray, " edge"]]
"""Seed → where each edge of the first seed finds its counterpart."""


def renaming(effects: xr.DataArray, graph: Graph) -> Renaming:
    """Every seed's heads named as the first seed's, from effects (seed, order, twin, branch, edge[, trial])."""
    maps = replicates(effects).stack(map=("twin", "branch")).transpose("seed", "edge", "map")
    first = maps.values[0]
    return {
        int(seed): counterparts(first, seed_maps, graph)
        for seed, seed_maps in zip(maps["seed"].values, maps.values, strict=True)
    }


def renamed(values: xr.DataArray, names: Renaming, graph: Graph) -> xr.DataArray:
    """`values` (seed, …, edge, …) with the edges of every seed in the order and under the names of the first seed's."""
    bare = values.drop_vars(["source", "target", "slot"], errors="ignore").drop_vars("edge", errors="ignore")
    rows = [bare.sel(seed=seed).isel(edge=names[int(seed)]) for seed in values["seed"].values]
    return xr.concat(rows, "seed").assign_coords(seed=values["seed"].values, **edge_coords(graph.edges))


def twin_table(effects: xr.Dataset, twin: str, names: Renaming, graph: Graph) -> xr.Dataset:
    """`edge_table` of one twin's effects over seeds: `below`, `above`, and their `difference`, paired by seed."""
    effect = replicates(effects["effect"]).sel(twin=twin, drop=True)
    words = {"twin": twin, "direction": "noise"}
    return edge_table(xr.Dataset({"effect": renamed(effect, names, graph)}, attrs=words))


def named_gap_edge_table(patched: xr.Dataset, names: Renaming, graph: Graph) -> xr.Dataset:
    """`gap_edge_table` over seeds, of `gap_effects` merged over them, edges named as the first seed's."""
    values = edges_moved(patched).map(replicates)
    values = values.map(lambda value: renamed(value, names, graph) if "edge" in value.dims else value)
    return moved_table(values).assign_attrs(quantity="logits of the gap moved", twin="the other history")


def kind_of(source: str, target: str, slot: str) -> str:
    """The kind of an edge: `L0 heads → L1 heads, value`."""
    words = {"q": ", query", "k": ", key", "v": ", value", "in": ""}
    return f"{node_kind(source)} → {node_kind(target)}{words[slot]}"


def node_kind(node: str) -> str:
    """`L0 heads` for a head, anything else by its own name."""
    if not node.startswith("L"):
        return node
    part = component(node)
    return f"L{part.layer} heads" if part.is_head else node


def kind_table(patched: xr.Dataset) -> xr.Dataset:
    """Sums over edges of a kind of the gap's logits moved, dims (quantity, kind), kinds in the graph's order.

    Quantities `moved`, `into_below`, `into_above`, `share`; the coordinate `edges` (kind) counts them.

    Args:
        patched: `measure.gap_effects` merged over seeds.
    """
    values = edges_moved(patched).map(replicates)
    labels = zip(*(patched[name].values for name in ("source", "target", "slot")), strict=True)
    kinds = np.array([kind_of(str(source), str(target), str(slot)) for source, target, slot in labels])
    names, counts = np.unique(kinds, return_counts=True)
    first = dict.fromkeys(kinds.tolist())
    by_edge = values.drop_vars(["gap", "edge", "source", "target", "slot"]).assign_coords(kind=("edge", kinds))
    sums = by_edge.groupby("kind").sum("edge").sel(kind=list(first))
    table = moved_table(sums.assign(gap=values["gap"])).sel({QUANTITY: ["moved", "into_below", "into_above", "share"]})
    number = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return table.assign_coords(edges=("kind", [number[name] for name in first]))
