"""Edges over seeds: heads found again under other numbers, sums by kind, circuits by loops; controls that can fail."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.summary import records
from hyst_interp.questions.crossing.controls import streams_against_swap, swap_ends
from hyst_interp.questions.edges.attribution_summary import attribution_table, one_seed, settling, usual_steps
from hyst_interp.questions.edges.circuit_summary import (
    circuit_table,
    ends,
    jaccard_of,
    members,
    overlap_table,
    sizes,
    typical,
)
from hyst_interp.questions.edges.edge_similarity import counterparts, matched_edges
from hyst_interp.questions.edges.graph import Edge, Graph
from hyst_interp.questions.edges.measure import edge_coords
from hyst_interp.questions.edges.summary import kind_table, named_gap_edge_table, renamed, renaming, twin_table
from hyst_interp.questions.transplant.controls import cells_at_no_updates, own_against_run, parts_against_gap
from hyst_interp.questions.weights.controls import all_weights_moved
from hyst_interp.statistics import Estimate, student_t

GRAPH = Graph(2, 3)
N = len(GRAPH.edges)
BRANCHES = ["below", "above"]


def same(one: object, two: Estimate) -> bool:
    """Equal but for rounding."""
    assert isinstance(one, Estimate)
    ends = [(getattr(one, name), getattr(two, name)) for name in ("estimate", "low", "high")]
    return one.unit == two.unit and all(a == pytest.approx(b) for a, b in ends)


TURN = {"L0H0": "L0H2", "L0H1": "L0H0", "L0H2": "L0H1", "L1H0": "L1H1", "L1H1": "L1H0", "L1H2": "L1H2"}
"""What seed 1 calls the heads of seed 0."""


def turned() -> np.ndarray:
    """Where each edge of seed 0 stands in seed 1."""
    names = [Edge(TURN.get(e.source, e.source), TURN.get(e.target, e.target), e.slot) for e in GRAPH.edges]
    return np.array(GRAPH.position_of(names))


@pytest.fixture
def effects() -> xr.Dataset:
    """Two seeds with one map under other heads' numbers, two orders, two twins, four trials."""
    values = np.random.default_rng(4).normal(size=(2, 2, 2, 2, N, 4))
    values[1][..., turned(), :] = values[0]
    coords = {
        "seed": [3, 8],
        "order": [0, 1],
        "twin": ["value", "rename"],
        "branch": BRANCHES,
        **edge_coords(GRAPH.edges),
    }
    return xr.Dataset({"effect": (("seed", "order", "twin", "branch", "edge", "trial"), values)}, coords)


def test_heads_are_found_again_under_other_numbers(effects):
    names = renaming(effects["effect"], GRAPH)
    np.testing.assert_array_equal(names[3], np.arange(N))
    np.testing.assert_array_equal(names[8], turned())
    found = renamed(effects["effect"], names, GRAPH)
    np.testing.assert_array_equal(found.sel(seed=8), found.sel(seed=3))
    assert not np.array_equal(effects["effect"].sel(seed=8), effects["effect"].sel(seed=3))


def test_one_renaming_of_one_map_is_matched_edges(effects):
    a, b = (effects["effect"].sel(seed=seed, twin="value", branch="below").mean(["order", "trial"]) for seed in (3, 8))
    places = counterparts(a.values[:, None], b.values[:, None], GRAPH)
    np.testing.assert_array_equal(b.values[places], matched_edges(a, b, GRAPH))


def test_a_table_over_seeds_is_student_t_edge_by_edge(effects):
    effects["effect"][1] += 0.1 * np.random.default_rng(9).normal(size=effects["effect"][1].shape)
    names = renaming(effects["effect"], GRAPH)
    table = twin_table(effects, "rename", names, GRAPH)
    assert list(table["quantity"].values) == ["below", "above", "difference"]
    for edge in (0, 17, N - 1):
        places = [edge, int(turned()[edge])]
        sides = [
            np.array([effects["effect"].values[seed, :, 1, branch, places[seed]].mean() for seed in (0, 1)])
            for branch in (0, 1)
        ]
        for quantity, values in zip(table["quantity"].values, (*sides, sides[0] - sides[1]), strict=True):
            expected, cell = student_t(values, "logits"), table.sel(quantity=quantity).isel(edge=edge)
            assert [float(cell[name]) for name in ("estimate", "low", "high")] == pytest.approx(
                [expected.estimate, expected.low, expected.high]
            )


@pytest.fixture
def gap_edges() -> xr.Dataset:
    random = np.random.default_rng(6)
    margin = random.normal(size=(3, 2, 2, 4)) + np.array([0.5, -0.5])[:, None]
    after = margin[:, :, None] + random.normal(size=(3, 2, N, 2, 4))
    coords = {"seed": [0, 1, 2], "order": [0, 1], "branch": BRANCHES, **edge_coords(GRAPH.edges)}
    found = xr.Dataset(
        {
            "margin": (("seed", "order", "branch", "trial"), margin),
            "margin_after": (("seed", "order", "edge", "branch", "trial"), after),
        },
        coords,
    )
    return found.assign_coords(reference=("edge", ["donor"] * N))


def test_kinds_hold_every_edge_once_and_need_no_numbering(gap_edges):
    rows = records(kind_table(gap_edges))
    assert sum(row["edges"] for row in rows) == N
    moved = (gap_edges["margin"] - gap_edges["margin_after"]).mean(["order", "trial"])
    half = (moved.sel(branch="below") - moved.sel(branch="above")).transpose("seed", "edge") / 2
    total = sum(row["moved"].estimate for row in rows)
    assert total == pytest.approx(float(half.sum("edge").mean()))
    one = next(row for row in rows if row["kind"] == "L0MLP → L1 heads, query")
    here = [i for i, e in enumerate(GRAPH.edges) if e.source == "L0MLP" and e.slot == "q"]
    assert same(one["moved"], student_t(half.values[:, here].sum(1), "logits"))
    other = gap_edges.copy(deep=True)
    other["margin_after"].values[1] = other["margin_after"].values[1][:, turned()]
    again = records(kind_table(other))
    for row, twin in zip(rows, again, strict=True):
        assert twin["moved"].estimate == pytest.approx(row["moved"].estimate)
    names = {seed: np.arange(N) for seed in (0, 1, 2)}
    assert not np.allclose(
        *(named_gap_edge_table(patched, names, GRAPH)["estimate"] for patched in (other, gap_edges)), equal_nan=True
    )


def test_the_gaps_table_holds_both_directions(gap_edges):
    table = named_gap_edge_table(gap_edges, {seed: np.arange(N) for seed in (0, 1, 2)}, GRAPH)
    one = table["estimate"]
    np.testing.assert_allclose(
        one.sel(quantity="moved"), (one.sel(quantity="into_below") + one.sel(quantity="into_above")) / 2
    )
    np.testing.assert_allclose(
        one.sel(quantity="interaction"), (one.sel(quantity="into_below") - one.sel(quantity="into_above")) / 2
    )


@pytest.fixture
def found_circuits() -> xr.Dataset:
    """Circuits of random rankings, with curves that are not monotone."""
    random = np.random.default_rng(8)
    shape = (2, 2, 1, 2)
    kept = np.clip(np.linspace(0, 1.2, N + 1) + 0.2 * random.normal(size=(*shape, N + 1)), 0, 1.1)
    kept[..., 0], kept[..., -1] = 0, 1
    rank = np.argsort(random.normal(size=(*shape, N)), axis=-1)
    floor = np.broadcast_to(np.array([0, 0.4, 1.0]), (*shape, 3, 3))
    dims = ("seed", "order", "twin", "branch")
    return xr.Dataset(
        {
            "faithfulness": ((*dims, "size"), kept),
            "rank": ((*dims, "edge"), rank),
            "floor": ((*dims, "ranking", "floor_size"), floor),
        },
        {"seed": [0, 1], "order": [0, 1], "twin": ["value"], "branch": BRANCHES}
        | {"size": np.arange(N + 1), "floor_size": [0, N // 2, N], **edge_coords(GRAPH.edges)},
    )


def test_sizes_and_members_are_those_of_a_loop(found_circuits):
    names = {0: np.arange(N), 1: turned()}
    size, inside = sizes(found_circuits, 0.8), members(found_circuits, names, GRAPH, 0.8)
    for seed in (0, 1):
        for order in (0, 1):
            for branch in (0, 1):
                curve = found_circuits["faithfulness"].values[seed, order, 0, branch]
                first = next(k for k in range(N + 1) if curve[k] >= 0.8)
                assert int(size.values[seed, order, 0, branch]) == first
                rank = found_circuits["rank"].values[seed, order, 0, branch]
                expected = [rank[names[seed][edge]] < first for edge in range(N)]
                np.testing.assert_array_equal(inside.isel(seed=seed, order=order, twin=0, branch=branch), expected)
    row = records(circuit_table(found_circuits, 0.8))[0]
    assert row["below"].estimate == pytest.approx(float(size.sel(branch="below").mean()))
    assert row["random"].estimate == N
    assert ends(found_circuits) == (0, 0)
    found_circuits["faithfulness"][0, 0, 0, 0, -1] = 0.9
    assert ends(found_circuits) == (0, pytest.approx(0.1))


def test_overlaps_of_circuits(found_circuits):
    inside = members(found_circuits, {0: np.arange(N), 1: np.arange(N)}, GRAPH, 0.8)
    row = records(overlap_table(inside))[0]
    values = inside.values[:, :, 0]
    expected = [np.mean([jaccard_of(values[s, o, 0], values[s, o, 1]) for o in (0, 1)]) for s in (0, 1)]
    assert same(row["histories"], student_t(np.array(expected), "share of edges"))
    assert row["floor"].low is None
    alike = inside.copy(data=np.broadcast_to(values[0, 0, 0], inside.shape).copy())
    assert [records(overlap_table(alike))[0][name].estimate for name in ("histories", "ceiling", "floor")] == [1, 1, 1]
    np.testing.assert_array_equal(typical(alike).sel(twin="value", quantity="difference"), values[0, 0, 0])
    one = records(overlap_table(inside.isel(seed=[0], order=[0])))[0]
    assert one["ceiling"].reason
    assert one["floor"].reason
    assert jaccard_of(np.array([True, False]), np.array([False, True])) == 0
    assert jaccard_of(np.zeros(2, bool), np.zeros(2, bool)) == 1


def test_attribution_over_seeds_is_the_mean_of_seeds():
    random = np.random.default_rng(3)
    dims, shape = ("seed", "order", "twin", "branch"), (3, 2, 2, 2)
    steps = [1, 10]
    coords = {
        "seed": [0, 1, 2],
        "twin": ["value", "rename"],
        "branch": BRANCHES,
        "steps": steps,
        **edge_coords(GRAPH.edges),
    }
    found = xr.Dataset(
        {
            "pearson": ((*dims, "steps"), random.uniform(size=(*shape, 2))),
            "exact": ((*dims, "edge"), random.normal(size=(*shape, N))),
            "score": ((*dims, "steps", "edge"), random.normal(size=(*shape, 2, N))),
        },
        coords,
    )
    table = attribution_table(found)
    rows = records(table)
    expected = found["pearson"].values[..., 1].mean((1, 2, 3))
    assert [row["steps"] for row in rows] == steps
    assert same(rows[1]["pearson"], student_t(expected, "correlation"))
    assert float(settling(table)["pearson"].sel(steps=10)) == pytest.approx(expected.mean())
    assert usual_steps(found) == 10
    assert usual_steps(found.assign_coords(steps=[1, 5])) == 5
    exact, score = one_seed(found, 1, "rename", 10)
    np.testing.assert_allclose(exact, found["exact"].values[1, :, 1].mean(0))
    np.testing.assert_allclose(score, found["score"].values[1, :, 1, :, 1].mean(0))


def test_controls_of_a_transplant_see_what_is_wrong():
    cells = ["own", "other", "first moment", "second moment", "anchor", "reset", "zeroed"]
    margin = np.zeros((2, 2, 2, len(cells), 2, 4)) + np.arange(4.0)
    dims = ("seed", "order", "weights", "optimizer", "update", "trial")
    coords = {"seed": [0, 1], "order": [0, 1], "weights": BRANCHES, "optimizer": cells, "update": [0, 5]}
    found = xr.Dataset({"margin": (dims, margin)}, coords, {"hold": 0})
    run = xr.Dataset(
        {"margin": (("seed", "order", "branch", "position", "trial"), np.zeros((2, 3, 2, 4, 6)) + np.arange(6.0))},
        {"seed": [0, 1], "order": [0, 1, 2], "branch": BRANCHES, "position": [3, 8, 13, 18]}
        | {"hold": ("position", [np.nan, 0, 5, 10])},
    )
    assert cells_at_no_updates(found) == 0
    assert parts_against_gap(found) == pytest.approx(0, abs=1e-12)
    assert own_against_run(found, run) == (0, 2)
    found["margin"].loc[{"optimizer": "reset", "update": 0, "seed": 1, "order": 0, "weights": "below"}] += 0.25
    assert cells_at_no_updates(found) == 0.25
    run["margin"].loc[{"position": 13, "seed": 0, "order": 1, "branch": "above"}] += 0.5
    assert own_against_run(found, run) == (0.5, 2)
    assert own_against_run(found, run.assign_coords(hold=("position", [np.nan, 1, 2, 3]))) is None
    assert cells_at_no_updates(found.sel(update=[5])) is None


def test_controls_of_moves_see_what_is_wrong():
    margin = xr.DataArray(np.arange(8.0).reshape(2, 4), {"branch": BRANCHES}, ("branch", "trial"))
    moved = xr.Dataset({"margin": margin, "margin_all": margin.copy(data=margin.values[::-1].copy())})
    assert all_weights_moved(moved) == 0
    moved["margin_all"][0, 1] += 2
    assert all_weights_moved(moved) == 2
    names = ["nothing", "embeddings", "L0 attention", "L0 MLP", "L1 attention", "L1 MLP", "final norm", "unembedding"]
    steps = np.random.default_rng(1).normal(size=(2, len(names), 4))
    swapped = xr.Dataset(
        {
            "margin_after": (("branch", "rung", "trial"), steps),
            "end_error": (("branch", "end"), np.array([[0, 0.5], [0, 0.1]])),
        },
        {"branch": BRANCHES, "rung": names, "end": ["receiver", "donor"]},
    )
    streams = xr.Dataset(
        {"margin_after": (("branch", "layer", "role", "trial"), steps[:, [1, 3, 5], None])},
        {"branch": BRANCHES, "layer": [0, 1, 2], "role": ["everywhere"]},
    )
    assert streams_against_swap(streams, swapped) == 0
    streams["margin_after"][1, 2, 0, 0] += 3
    assert streams_against_swap(streams, swapped) == pytest.approx(3)
    assert swap_ends(swapped) == (0, 0.5)
