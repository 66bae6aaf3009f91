"""Routes over seeds: tables to draw and rows to print, from what a study has merged over seeds and data orders.

Heads of different seeds have no common numbering. So an edge's mean over seeds is taken after every seed's heads have
been renamed, within layers, to those of the first: by the one renaming that makes the inner product of both twins' and
both histories' exact effects largest (`edge_likeness.counterparts`). The gap, edge by edge, has no part in that choice.
A renaming that looks for likeness finds some, so intervals of the twins' effects are a little too narrow.

Kinds of edges need no renaming: all edges from one kind of source (the embedding, a layer's heads, an MLP) into one
kind of input. Their number is the sum of single edges' effects, which need not be what the edges do together.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from jaxtyping import Int

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.replicates import band, over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions.edges.edge_similarity import counterparts
from hyst_interp.questions.edges.graph import Graph
from hyst_interp.questions.edges.measure import edge_coords
from hyst_interp.sites import component
from hyst_interp.statistics import ratio_of_means

Renaming = Mapping[int, Int[np.ndarray, " edge"]]
"""Seed → where each edge of the first seed finds its counterpart."""


def renaming(effects: xr.DataArray, graph: Graph) -> Renaming:
    """Every seed's heads named as the first seed's, from effects (seed, order, twin, branch, edge[, trial])."""
    maps = per_seed(effects.astype("float64")).stack(map=("twin", "branch")).transpose("seed", "edge", "map")
    first = maps.values[0]
    return {
        int(seed): counterparts(first, one, graph) for seed, one in zip(maps["seed"].values, maps.values, strict=True)
    }


def renamed(found: xr.DataArray, names: Renaming, graph: Graph) -> xr.DataArray:
    """`found` (seed, …, edge, …) with the edges of every seed in the order and under the names of the first seed's."""
    bare = found.drop_vars(["source", "target", "slot"], errors="ignore").drop_vars("edge", errors="ignore")
    rows = [bare.sel(seed=seed).isel(edge=names[int(seed)]) for seed in found["seed"].values]
    return xr.concat(rows, "seed").assign_coords(seed=found["seed"].values, **edge_coords(graph.edges))


def twin_table(found: xr.Dataset, twin: str, names: Renaming, graph: Graph) -> xr.Dataset:
    """Effects of every edge over seeds, by twin: `effect`, `low`, `high`, dims (history, edge), as figures draw them.

    `history` holds from below, from above, and their difference, paired by seed.
    """
    effect = renamed(per_seed(found["effect"].astype("float64")).sel(twin=twin, drop=True), names, graph)
    below, above = (effect.sel(branch=branch, drop=True) for branch in BRANCHES)
    values = {"below": below, "above": above, "difference": below - above}
    return _table(values, {"quantity": "effect on the margin", "twin": twin, "direction": "noise"})


def gap_edge_table(found: xr.Dataset, names: Renaming, graph: Graph) -> xr.Dataset:
    """Logits of the gap that every edge moves, over seeds: `moved`, both directions, and half their difference.

    From `gap_effects` merged over seeds; variables and dims as in `twin_table`.
    """
    moved = logits_moved(found)
    parts = {name: renamed(per_seed(moved[name]), names, graph) for name in ("moved", "into_below", "into_above")}
    parts["interaction"] = (parts["into_below"] - parts["into_above"]) / 2
    return _table(parts, {"quantity": "logits of the gap moved", "twin": "the other history"})


def _table(values: Mapping[str, xr.DataArray], attrs: dict[str, str]) -> xr.Dataset:
    joined = xr.concat(list(values.values()), "history", coords="minimal", compat="override")
    spread = band(joined.assign_coords(history=list(values)).assign_attrs(units="logits"))
    return spread.rename(estimate="effect").transpose("history", "edge").assign_attrs(attrs, units="logits")


def kind_of(source: str, target: str, slot: str) -> str:
    """The kind of an edge: `L0 heads → L1 heads, value`."""
    words = {"q": ", query", "k": ", key", "v": ", value", "in": ""}
    return f"{node_kind(source)} → {node_kind(target)}{words[slot]}"


def node_kind(node: str) -> str:
    """`L0 heads` for a head, anything else by its own name."""
    if not node.startswith("L"):
        return node
    one = component(node)
    return f"L{one.layer} heads" if one.is_head else node


def kind_rows(found: xr.Dataset) -> list[Row]:
    """Sums over edges of a kind of the gap's logits moved: `kind`, `edges`, `moved`, both directions, `share`.

    From `gap_effects` merged over seeds, in the graph's order; estimates over seeds.
    """
    values = logits_moved(found)
    parts = {name: per_seed(values[name]) for name in ("moved", "into_below", "into_above")}
    gap = per_seed(values["gap"])
    gap = gap.isel(edge=0, drop=True) if "edge" in gap.dims else gap
    labels = zip(*(found[name].values for name in ("source", "target", "slot")), strict=True)
    kinds = np.array([kind_of(str(source), str(target), str(slot)) for source, target, slot in labels])
    rows: list[Row] = []
    for kind in dict.fromkeys(kinds):
        members = np.flatnonzero(kinds == kind)
        sums = {name: one.isel(edge=members).sum("edge").reset_coords(drop=True) for name, one in parts.items()}
        row: Row = {"kind": str(kind), "edges": len(members)}
        row |= {name: over_seeds(one) for name, one in sums.items()}
        row["share"] = ratio_of_means(sums["moved"].values, gap.values, unit="share of the gap")
        rows.append(row)
    return rows
