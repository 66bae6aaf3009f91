"""The graph: its size in closed form, names that read back, and nothing that a transformer could not have."""

import pytest

from hyst_interp.errors import UserError
from hyst_interp.questions.edges.graph import Edge, Graph, Input, edge, slots_of


def n_edges(n_layers: int, n_heads: int, mlps: int) -> int:
    """3H(1 + l(H + M)) into heads of layer l, M(1 + l(H + M) + H) into its MLP, all sources into the logits."""
    width = n_heads + mlps
    blocks = sum(3 * n_heads * (1 + layer * width) + mlps * (1 + layer * width + n_heads) for layer in range(n_layers))
    return blocks + 1 + n_layers * width


@pytest.mark.parametrize("shape", [(2, 4, True), (1, 1, True), (3, 2, False), (4, 3, True), (12, 12, True)])
def test_edges_are_as_many_as_the_closed_form_says(shape):
    graph = Graph(*shape)
    assert len(graph.edges) == n_edges(*shape) == len(set(graph.edges))


def test_the_papers_size_has_110_edges_and_gpt2_small_32491():
    assert len(Graph(2, 4).edges) == 12 + 5 + 72 + 10 + 11
    assert len(Graph(12, 12).edges) == 32491


def test_every_edge_points_up_and_heads_of_one_layer_do_not_read_one_another():
    graph = Graph(3, 2)
    place = {node: i for i, node in enumerate(graph.nodes)}
    for one in graph.edges:
        assert place[one.source] < place[one.target]
        assert not (one.slot != "in" and one.source.startswith(one.target[:2]))


def test_sources_stand_in_the_order_of_the_stream():
    graph = Graph(2, 2)
    assert graph.sources == ("embed", "L0H0", "L0H1", "L0MLP", "L1H0", "L1H1", "L1MLP")
    assert graph.sources_of("L1H1") == graph.sources[:4]
    assert graph.sources_of("L1MLP") == graph.sources[:6]
    assert graph.sources_of("logits") == graph.sources
    assert "L0MLP" not in Graph(2, 2, mlps=False).nodes


def test_names_read_back():
    graph = Graph(2, 3)
    assert [edge(str(one)) for one in graph.edges] == list(graph.edges)
    assert edge("L0H1->L1H2.q") == Edge("L0H1", "L1H2", "q")
    assert str(Edge("embed", "logits")) == "embed→logits"
    assert str(Input("L1H0", "k")) == "L1H0.k"
    assert slots_of("embed") == ()


@pytest.mark.parametrize("text", ["L0H1", "L0H1→L1H2", "embed→logits.q", "logits→L0MLP", "L0H1→L1MLP.v", "x→logits"])
def test_what_is_no_edge_is_refused(text, one_sentence):
    with pytest.raises(UserError) as caught:
        edge(text)
    one_sentence(caught.value)


def test_an_edge_of_another_model_is_refused(one_sentence):
    with pytest.raises(UserError) as caught:
        Graph(2, 2).position_of([Edge("L0H1", "L1H2", "q")])
    one_sentence(caught.value, "L0H1→L1H2.q", "2 layers")
    with pytest.raises(UserError) as caught:
        Edge("embed", "L0H0", "o")
    one_sentence(caught.value, "slot 'o'")
