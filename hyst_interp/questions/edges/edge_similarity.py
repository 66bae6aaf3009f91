"""How alike two maps of edges are, between what siblings reach (the ceiling) and what other seeds reach (the floor).

Correlations run over *free* edges: an edge whose source writes the same in both runs has effect exactly 0 in any
network, so edges that are exactly 0 in both maps are left out. Heads of different seeds have no common numbering: they
are matched within layers, by the assignment of largest inner product. No edge joins heads of one layer, so that
assignment is linear in each layer's permutation when the others are held.
"""

from collections.abc import Sequence
from itertools import permutations, product
from math import factorial

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError
from hyst_interp.questions.edges.edge_circuits import mean_effect
from hyst_interp.questions.edges.graph import Edge, Graph
from hyst_interp.questions.edges.measure import edges_of
from hyst_interp.questions.similarity.measure import Similarity, compare_vectors, sibling_pairs
from hyst_interp.questions.similarity.similarity_over_seeds import Likeness

FEW_STARTS = 1000
"""Matchings of all layers but the last that are still tried one by one; above it layers are improved in turn."""


def edge_similarity(map_a: xr.DataArray, map_b: xr.DataArray) -> Similarity:
    """Pearson and Spearman correlation, distance in logits, and gain of two maps (edge[, trial]) over free edges.

    Raises UserError where the maps do not hold the same edges.
    """
    a, b = mean_effect(map_a), mean_effect(map_b)
    if edges_of(a) != edges_of(b):
        raise UserError(f"maps hold {a.size} and {b.size} edges, not the same ones; give maps of one graph.")
    return compare_effects(a.values, b.values)


def compare_effects(a: np.ndarray, b: np.ndarray) -> Similarity:
    """`edge_similarity` of plain vectors; correlations are None below three free edges or without variation."""
    free = (a != 0) | (b != 0)
    return compare_vectors(a[free], b[free])


def matched_edges(map_a: xr.DataArray, map_b: xr.DataArray, graph: Graph) -> xr.DataArray:
    """`map_b` (edge), its heads renamed within layers so that its inner product with `map_a` is largest.

    Exact for small graphs (every matching of all layers but the last is tried, the last is assigned); in larger ones
    layers are assigned in turn until nothing improves. Both maps must hold every edge of `graph`.
    """
    a, b = mean_effect(map_a), mean_effect(map_b)
    if edges_of(a) != list(graph.edges) or edges_of(b) != list(graph.edges):
        raise UserError(f"maps hold {a.size} and {b.size} edges; matching heads needs all {len(graph.edges)} of both.")
    return b.copy(data=b.values[counterparts(a.values[:, None], b.values[:, None], graph)])


def counterparts(
    a: Float[np.ndarray, "edge map"], b: Float[np.ndarray, "edge map"], graph: Graph
) -> Int[np.ndarray, " edge"]:
    """Where each edge of `a` finds its counterpart in `b`: one renaming of b's heads for several maps of both together.

    Rows are all edges of `graph` in its order. As in `matched_edges`, the inner product summed over maps is largest.
    """
    best = max(_matchings(a, b, graph), key=lambda one: float((a * b[_moved(graph, one)]).sum()))
    return np.array(_moved(graph, best))


def edge_similarity_over_seeds(effects: xr.DataArray, graph: Graph) -> Likeness:
    """Every comparison of a run's mean effects (seed, order, branch, edge): histories, ceiling, floor.

    A seed's map is its mean over orders. Ceiling: like branches of one seed on other data orders. Floor: like branches
    of other seeds, heads matched.
    """
    seeds = [int(seed) for seed in effects["seed"].values]
    n_orders = effects.sizes["order"]

    def of(seed: int, branch: str, order: int | None = None) -> xr.DataArray:
        branch_effects = effects.sel(seed=seed, branch=branch, drop=True)
        return branch_effects.mean("order") if order is None else branch_effects.isel(order=order, drop=True)

    means = {(seed, branch): of(seed, branch) for seed in seeds for branch in BRANCHES}
    comparisons: dict[str, dict[int, list[Similarity]]] = {"histories": {}, "ceiling": {}, "floor": {}}
    for seed in seeds:
        comparisons["histories"][seed] = [edge_similarity(means[seed, "below"], means[seed, "above"])]
        comparisons["ceiling"][seed] = [
            edge_similarity(of(seed, branch, i), of(seed, branch, j))
            for branch in BRANCHES
            for i, j in sibling_pairs(n_orders)
        ]
        comparisons["floor"][seed] = [
            edge_similarity(means[seed, branch], matched_edges(means[seed, branch], means[other, branch], graph))
            for other in seeds
            if other != seed
            for branch in BRANCHES
        ]
    return Likeness("edges", comparisons)


Matching = tuple[tuple[int, ...], ...]
"""A layer each: which head of b stands where head 0, 1, … of a stands."""


def _matchings(a: np.ndarray, b: np.ndarray, graph: Graph) -> list[Matching]:
    """Candidates among which the best is."""
    heads, last = range(graph.n_heads), graph.n_layers - 1
    if factorial(graph.n_heads) ** last <= FEW_STARTS:
        starts = list(product(permutations(heads), repeat=last))
        return [_assigned(a, b, graph, (*start, tuple(heads)), last) for start in starts]
    now: Matching = (tuple(heads),) * graph.n_layers
    while True:
        before = now
        for layer in range(graph.n_layers):
            now = _assigned(a, b, graph, now, layer)
        if now == before:
            return [now]


def _assigned(a: np.ndarray, b: np.ndarray, graph: Graph, matching: Matching, layer: int) -> Matching:
    """The best matching of one layer's heads, all others held."""
    moved = b[_moved(graph, matching)]
    names = graph.heads(layer)
    rows = [_around(graph, name) for name in names]
    gain = np.array([[(a[mine] * moved[theirs]).sum() for theirs in rows] for mine in rows])
    order = linear_sum_assignment(-gain)[1]
    own = matching[layer]
    return (*matching[:layer], tuple(own[i] for i in order), *matching[layer + 1 :])


def _around(graph: Graph, head: str) -> list[int]:
    """Places of all edges into and out of a head, the same order for every head of a layer."""
    return [place for place, edge in enumerate(graph.edges) if head in (edge.source, edge.target)]


def _moved(graph: Graph, matching: Matching) -> list[int]:
    """Where each edge finds its counterpart in b."""
    name = {
        mine: graph.heads(layer)[theirs]
        for layer, order in enumerate(matching)
        for mine, theirs in zip(graph.heads(layer), order, strict=True)
    }
    renamed: Sequence[Edge] = [
        Edge(name.get(edge.source, edge.source), name.get(edge.target, edge.target), edge.slot) for edge in graph.edges
    ]
    return graph.position_of(renamed)
