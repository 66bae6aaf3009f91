"""Figures of edges: every drawn line and cell is the table's own, and what is no table is refused."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.plots.theme import DIFFERENCES, EFFECTS
from hyst_interp.questions.edges.attribution_figure import attribution_dots
from hyst_interp.questions.edges.figure import WIDEST, edge_graph
from hyst_interp.questions.edges.graph import Graph
from hyst_interp.questions.edges.map_figure import edge_map
from hyst_interp.questions.edges.measure import edge_coords

GRAPH = Graph(2, 4)


@pytest.fixture
def table() -> xr.Dataset:
    """Effects −2 … +2 from below, half of that from above, and their difference, with intervals."""
    below = np.linspace(-2, 2, len(GRAPH.edges))
    effect = np.stack([below, below / 2, below / 2])
    dims = ("quantity", "edge")
    return xr.Dataset(
        {"estimate": (dims, effect), "low": (dims, effect - 0.1), "high": (dims, effect + 0.1)},
        {"quantity": ["below", "above", "difference"], **edge_coords(GRAPH.edges)},
        {"units": "logits", "quantity": "effect on the margin", "twin": "value", "direction": "noise"},
    )


def lines(figure, panel: int) -> list:
    name = "x" if panel == 0 else f"x{panel + 1}"
    return [trace for trace in figure.data if trace.mode == "lines" and trace.xaxis == name]


def test_width_is_size_and_colour_is_sign(table):
    figure = edge_graph(table)
    for panel, (largest, scale) in enumerate(((2, EFFECTS), (2, EFFECTS), (1, DIFFERENCES))):
        values = table["estimate"].values[panel]
        shown = sorted(values[np.abs(values) >= 0.03 * largest], key=abs)
        drawn = lines(figure, panel)
        assert len(drawn) == len(shown)
        for trace, value in zip(drawn, shown, strict=True):
            assert trace.line.color == (scale[-1][1] if value > 0 else scale[0][1])
            assert trace.line.width == pytest.approx(max(WIDEST * abs(value) / largest, 0.8))


def test_a_circuit_is_all_that_is_drawn_and_what_one_history_has_alone_is_dotted(table):
    member = np.zeros((3, len(GRAPH.edges)), bool)
    member[0, :4], member[1, 2:5], member[2, :5] = True, True, True
    figure = edge_graph(table.assign(member=(("quantity", "edge"), member)))
    assert [len(lines(figure, panel)) for panel in range(3)] == [4, 3, 5]
    assert sum(trace.line.dash == "dot" for trace in lines(figure, 2)) == 3
    assert not any(trace.line.dash == "dot" for panel in (0, 1) for trace in lines(figure, panel))


def test_hover_names_the_edge_its_effect_and_its_interval(table):
    figure = edge_graph(table)
    words = " ".join(text for trace in figure.data if trace.name == "edges" for text in trace.text)
    assert "<b>L1MLP→logits</b><br>+2.000 logits<br>[+1.900, +2.100]" in words
    assert "<b>embed→L0H0.q</b><br>−2.000 logits<br>[−2.100, −1.900]" in words


def test_no_edge_passes_through_a_head(table):
    """Every curve is followed; where it stands at the height of a head it is between heads."""
    boxes = [(head, row) for row in (1, 3) for head in range(4)]
    for trace in lines(edge_graph(table), 0):
        xs, ys = np.array(trace.x), np.array(trace.y)
        inside = (ys > ys[0] + 0.01) & (ys < ys[-1] - 0.01)
        for head, row in boxes:
            assert not ((abs(ys - row) < 0.05) & (abs(xs - head) < 0.3) & inside).any()


@pytest.mark.parametrize("stacked", [False, True])
def test_every_node_is_named_in_every_panel(table, stacked):
    words = [str(note.text) for note in edge_graph(table, stacked).layout.annotations]
    for node in GRAPH.nodes:
        assert words.count(node) == 3
    assert [words.count(slot) for slot in "qkv"] == [24] * 3


def test_models_of_another_shape_and_tables_without_intervals_are_drawn(table):
    graph = Graph(3, 2, mlps=False)
    effect = (("quantity", "edge"), np.ones((1, len(graph.edges))))
    small = xr.Dataset({"estimate": effect}, {"quantity": ["moved"], **edge_coords(graph.edges)})
    assert len(lines(edge_graph(small), 0)) == len(graph.edges)
    assert np.isfinite(np.array(edge_map(small).data[0].z, float)).sum() == len(graph.edges)
    nothing = small.assign(estimate=0 * small["estimate"])
    assert edge_graph(nothing).layout.height == edge_graph(small).layout.height


def test_every_cell_of_an_edge_map_is_the_tables(table):
    figure = edge_map(table)
    assert [trace.coloraxis for trace in figure.data] == ["coloraxis", "coloraxis", "coloraxis2"]
    assert (figure.layout.coloraxis.cmax, figure.layout.coloraxis2.cmax) == (2, 1)
    for trace, quantity in zip(figure.data, table["quantity"].values, strict=True):
        z = np.array(trace.z, float)
        assert np.isfinite(z).sum() == len(GRAPH.edges)
        for index, edge in enumerate(GRAPH.edges):
            cell = z[list(trace.y).index(edge.source), list(trace.x).index(str(edge.input))]
            assert cell == pytest.approx(float(table["estimate"].sel(quantity=quantity)[index]), abs=1e-5)


def test_attributions_hold_both_and_what_settles(table):
    exact = table["estimate"].sel(quantity=["below", "above"]).rename(quantity="history")
    settling = xr.Dataset({"pearson": ("steps", [0.5, 0.9]), "change": ("steps", [0.4, 0.0])}, {"steps": [1, 10]})
    figure = attribution_dots(exact, 2 * exact, settling)
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    for trace, history in zip(dots, ("below", "above"), strict=True):
        np.testing.assert_array_equal(trace.x, exact.sel(history=history))
        np.testing.assert_array_equal(trace.y, 2 * exact.sel(history=history))
    curves = {trace.name: list(trace.y) for trace in figure.data if trace.mode == "lines+markers"}
    assert list(curves.values()) == [[0.5, 0.9], [0.4, 0.0]]


def test_refusals(table, one_sentence):
    cases = [
        (lambda: edge_graph(table.drop_vars("slot")), "slot"),
        (lambda: edge_map(table.drop_vars("source")), "source"),
        (lambda: edge_graph(table.assign(estimate=table["estimate"].isel(quantity=0, drop=True))), "quantity"),
        (lambda: attribution_dots(table["estimate"], table["estimate"][:, 1:], xr.Dataset()), "edges"),
    ]
    for call, word in cases:
        with pytest.raises(UserError) as caught:
            call()
        one_sentence(caught.value, word)
