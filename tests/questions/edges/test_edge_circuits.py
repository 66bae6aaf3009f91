"""Circuits: both ends of the curve exactly, planted circuits found, prefixes as defined, and maps held side by side."""

from itertools import permutations

import numpy as np
import pytest
import xarray as xr
from edge_models import noisy, silence, twins_of

from hyst_interp.errors import UserError
from hyst_interp.questions.edges.edge_circuits import (
    Circuit,
    circuit,
    faithfulness_curve,
    jaccard,
    membership,
    prune,
    random_rankings,
    ranking,
    shares,
)
from hyst_interp.questions.edges.edge_similarity import edge_similarity, edge_similarity_over_seeds, matched_edges
from hyst_interp.questions.edges.graph import Edge, Graph
from hyst_interp.questions.edges.measure import edge_coords, edge_effects, edge_logits, edges_of, twin_runs
from hyst_interp.statistics import undefined
from hyst_interp.streams import Stream

GRAPH = Graph(2, 2)
ROUTE = ("embed→L1H1.k", "embed→L1H1.v", "L1H1→logits")


def planted_curve(values: list[float]) -> xr.Dataset:
    """A curve with these shares, the same in both trials; clean margin 3, corrupted 1."""
    margin = np.array([[1 + 2 * value + shift for shift in (-0.1, 0.1)] for value in values], np.float32)
    one = np.array([-0.1, 0.1], np.float32)
    return xr.Dataset(
        {"margin": (("size", "trial"), margin), "clean": ("trial", 3 + one), "corrupted": ("trial", 1 + one)},
        {"size": list(range(len(values)))},
    )


def edge_map(values: np.ndarray, graph: Graph = GRAPH) -> xr.DataArray:
    return xr.DataArray(values, edge_coords(graph.edges), ("edge",))


@pytest.mark.parametrize("kind", ["value", "rename"])
def test_all_edges_are_exactly_1_and_none_exactly_0(small_setup, small_pair, kind):
    model, trials = small_pair.below, twins_of(small_setup, 30, kind)
    order = ranking(edge_effects(model, trials))
    for one in (order, *random_rankings(model, Stream("resampling", 0), 2)):
        found = shares(faithfulness_curve(model, trials, one, [0, 30, len(order)])).values
        assert found[0] == 0
        assert found[-1] == 1
        assert one is not order or 0.5 < found[1] != 1


def test_a_size_runs_with_every_other_edge_corrupted(small_setup):
    model, trials = noisy(), twins_of(small_setup)
    order = ranking(edge_effects(model, trials))
    curve = faithfulness_curve(model, trials, order, [3, 20])
    clean, corrupted = twin_runs(model, trials)
    for size in (3, 20):
        kept = order[:size]
        logits = edge_logits(model, clean, corrupted.messages, [one for one in GRAPH.edges if one not in kept]).numpy()
        rows = np.arange(len(trials))
        margin = logits[rows, trials.contextual] - logits[rows, trials.fixed]
        np.testing.assert_allclose(curve["margin"].sel(size=size), margin, atol=1e-5)
    assert list(curve["added"].values) == [str(order[2]), str(order[19])]


def test_the_planted_circuit_is_found_and_nothing_else(small_setup):
    model = silence(noisy(), "0.W_O", "0.W_out", "0.b_out", "1.W_out", "1.b_out", "1.W_O.0")
    trials = twins_of(small_setup, 40)
    order = ranking(edge_effects(model, trials))
    assert {str(one) for one in order[:3]} == set(ROUTE)
    curve = faithfulness_curve(model, trials, order)
    np.testing.assert_array_equal(curve["margin"].sel(size=3), curve["clean"])
    found = circuit(curve, order, 1.0)
    assert {str(one) for one in found.edges} == set(ROUTE)
    assert found.lasting == 3


def test_pruning_takes_out_what_is_idle_and_keeps_the_share(small_setup):
    model = silence(noisy(), "0.W_O", "0.W_out", "0.b_out", "1.W_out", "1.b_out", "1.W_O.0")
    trials = twins_of(small_setup, 40)
    share = undefined("planted", "share", 0)
    padded = Circuit(GRAPH.edges, 0.999, share, None)
    assert {str(one) for one in prune(model, trials, padded).edges} == set(ROUTE)
    with pytest.raises(UserError, match="keeps less than"):
        prune(model, trials, Circuit(GRAPH.edges[:2], 0.9, share, None))


def test_a_pruned_circuit_can_lose_no_edge(small_setup, small_pair):
    model, trials = small_pair.below, twins_of(small_setup, 12)
    order = ranking(edge_effects(model, trials))
    first = circuit(faithfulness_curve(model, trials, order), order, 0.8)
    found = prune(model, trials, first)
    assert set(found.edges) <= set(first.edges)
    assert found.faithfulness.estimate is not None
    assert found.faithfulness.estimate >= 0.8
    for one in found.edges:
        rest = [other for other in found.edges if other != one]
        others = [other for other in GRAPH.edges if other not in rest]
        assert float(shares(faithfulness_curve(model, trials, [*rest, *others], [len(rest)]))[0]) < 0.8


def test_the_first_size_and_the_lasting_size_of_a_curve_that_falls():
    order = GRAPH.edges[:6]
    curve = planted_curve([0, 0.3, 0.95, 0.5, 0.92, 1.1, 1])
    found = circuit(curve, order, 0.9)
    assert (len(found), found.edges, found.lasting) == (2, order[:2], 4)
    assert found.faithfulness.estimate == pytest.approx(0.95, abs=1e-6)
    straight = circuit(planted_curve([0, 0.5, 0.95, 1]), order, 0.9)
    assert (len(straight), straight.lasting) == (2, 2)
    np.testing.assert_allclose(shares(curve), [0, 0.3, 0.95, 0.5, 0.92, 1.1, 1], atol=1e-6)


def test_shares_are_ratios_of_means():
    curve = planted_curve([0, 0.5, 1])
    curve["margin"][1] = [1.0, 3.0]
    curve["clean"][:] = [2.0, 5.0]
    curve["corrupted"][:] = [0.5, 0.5]
    assert float(shares(curve)[1]) == pytest.approx((2.0 - 0.5) / (3.5 - 0.5))


def test_rankings_go_by_size_and_ties_keep_the_graphs_order():
    values = np.zeros(len(GRAPH.edges))
    values[[7, 3]] = [-2, 1]
    assert ranking(edge_map(values))[:4] == tuple(GRAPH.edges[i] for i in (7, 3, 0, 1))
    with pytest.raises(UserError, match="select one network"):
        ranking(edge_map(values).expand_dims(branch=["below", "above"]))


def test_random_rankings_hold_every_edge_and_are_reproducible():
    model = noisy()
    one, two = random_rankings(model, Stream("resampling", 4), 2)
    assert set(one) == set(two) == set(GRAPH.edges)
    assert one != two
    assert random_rankings(model, Stream("resampling", 4), 2) == [one, two]


def test_overlap_of_circuits():
    a, b, c = GRAPH.edges[:3]
    assert jaccard([a, b], [b, c]) == pytest.approx(1 / 3)
    assert (jaccard([a], [a]), jaccard([a], [b]), jaccard([], [])) == (1, 0, 1)
    made = {
        name: Circuit(edges, 0.9, undefined("planted", "share", 0), None)
        for name, edges in (("below", (a, b)), ("above", (b, c)))
    }
    found = membership(made, GRAPH.edges)
    assert found.sel(quantity="below").values[:3].tolist() == [True, True, False]
    assert found.sel(quantity="difference").values[:4].tolist() == [True, True, True, False]


def test_refusals(small_setup, one_sentence):
    model, trials = noisy(), twins_of(small_setup)
    order, curve = GRAPH.edges, planted_curve([0, 0.2, 0.5])
    cases = [
        (lambda: faithfulness_curve(model, trials, order[:-1]), "every edge once"),
        (lambda: faithfulness_curve(model, trials, [*order[:-1], order[0]]), "every edge once"),
        (lambda: faithfulness_curve(model, trials, order, [len(order) + 1]), "sizes"),
        (lambda: circuit(curve, order, 0.0), "faithfulness is 0"),
        (lambda: circuit(curve, order, 1.5), "faithfulness is 1.5"),
        (lambda: circuit(curve, order, 0.9), "larger sizes"),
        (lambda: shares(planted_curve([0, 0]).assign(clean=planted_curve([0])["corrupted"])), "more trials"),
        (lambda: edge_similarity(edge_map(np.ones(46)), edge_map(np.ones(46))[3:]), "one graph"),
        (lambda: matched_edges(edge_map(np.ones(46))[3:], edge_map(np.ones(46)), GRAPH), "needs all"),
    ]
    assert len(GRAPH.edges) == 46
    for call, word in cases:
        with pytest.raises(UserError) as caught:
            call()
        one_sentence(caught.value, word)


def test_similarity_leaves_out_what_is_0_in_both():
    random = np.random.default_rng(0)
    a, b = (edge_map(random.normal(size=46)) for _ in range(2))
    a[:20] = b[:20] = 0
    found = edge_similarity(a, b)
    assert found.cells == 26
    assert found.pearson == pytest.approx(np.corrcoef(a[20:], b[20:])[0, 1])
    assert found.distance == pytest.approx(float(np.linalg.norm(a - b)))
    same = edge_similarity(a, 3 * a)
    assert (same.pearson, same.spearman, same.slope) == (pytest.approx(1), pytest.approx(1), pytest.approx(3))


def renamed(one: xr.DataArray, graph: Graph, orders: list[tuple[int, ...]]) -> xr.DataArray:
    """The map of the same network with its heads in another order, by a plain loop."""
    new = {head: graph.heads(i)[order[j]] for i, order in enumerate(orders) for j, head in enumerate(graph.heads(i))}
    value = dict(zip(edges_of(one), one.values, strict=True))
    turned = {Edge(new.get(e.source, e.source), new.get(e.target, e.target), e.slot): v for e, v in value.items()}
    return one.copy(data=np.array([turned[e] for e in graph.edges]))


@pytest.mark.parametrize("order", list(permutations(range(3)))[1:])
def test_heads_in_another_order_are_matched_again(order):
    graph = Graph(2, 3)
    a = edge_map(np.random.default_rng(1).normal(size=len(graph.edges)), graph)
    turned = renamed(a, graph, [order, order[::-1]])
    assert edge_similarity(a, turned).pearson != pytest.approx(1)
    np.testing.assert_array_equal(matched_edges(a, turned, graph), a)


def test_matching_many_layers_never_makes_it_worse():
    graph = Graph(4, 4)
    random = np.random.default_rng(2)
    a = edge_map(random.normal(size=len(graph.edges)), graph)
    turned = renamed(a, graph, [(1, 0, 2, 3), (0, 1, 2, 3), (0, 1, 3, 2), (0, 1, 2, 3)])
    np.testing.assert_array_equal(matched_edges(a, turned, graph), a)
    b = edge_map(random.normal(size=len(graph.edges)), graph)
    found = matched_edges(a, b, graph)
    assert float((a * found).sum()) > float((a * b).sum())
    np.testing.assert_allclose(np.sort(found), np.sort(b))


def test_similarity_over_seeds_has_its_ceiling_and_floor():
    """Two seeds with maps of their own, heads of the second in another order, and a little noise."""
    random = np.random.default_rng(3)
    own = random.normal(size=len(GRAPH.edges))
    other = renamed(edge_map(own + 0.5 * random.normal(size=own.size)), GRAPH, [(1, 0), (1, 0)]).values
    values = np.stack([own, other])[:, None, None] + 0.01 * random.normal(size=(2, 2, 2, own.size))
    coords = {"seed": [0, 1], "order": [0, 1], "branch": ["below", "above"], **edge_coords(GRAPH.edges)}
    found = edge_similarity_over_seeds(xr.DataArray(values, coords, ("seed", "order", "branch", "edge")), GRAPH)
    assert {kind: len(rows[0]) for kind, rows in found.found.items()} == {"histories": 1, "ceiling": 2, "floor": 2}
    r = {kind: found.correlation(kind).estimate for kind in ("histories", "ceiling", "floor")}
    assert r["histories"] > 0.999
    assert r["ceiling"] > 0.999
    assert 0.7 < r["floor"] < 0.99
    assert found.cells == 46
    assert dict(found.unlikeness().sizes) == {"kind": 3, "seed": 2, "comparison": 2}
