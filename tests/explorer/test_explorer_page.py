"""The explorer's page: one file without a network, the data's own numbers, the same bytes; its panels as figures."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from hyst_interp.errors import UserError
from hyst_interp.explorer.explorer_data import exploration
from hyst_interp.explorer.page import STEPS
from hyst_interp.figures import explorer_page, head_maps
from hyst_interp.interventions.install import capture
from hyst_interp.model.build import model_from
from hyst_interp.model.circuits import ov_circuit, qk_circuit
from hyst_interp.sites import hook_pattern
from hyst_interp.tasks.registry import task_of


class Outside(HTMLParser):
    """Collects what a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found.extend(str(value) for name, value in attrs if name in ("src", "href", "action"))


@pytest.fixture(scope="module")
def explored(small_pair, small_setup):
    trials = small_pair.trials.take(slice(0, 3))
    return exploration(small_pair.below, small_pair.above, trials, task_of(small_setup).permutation)


def normed(model, layer: int, token: int) -> np.ndarray:
    """A token's embedding after a layer's LayerNorm, by hand."""
    x, norm = model.W_E[token].detach().numpy().astype(np.float64), model.blocks[layer].ln1
    x = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
    return x * norm.w.detach().numpy() + norm.b.detach().numpy()


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (1, 0)])
def test_the_circuits_are_what_a_plain_loop_finds(small_pair, layer, head):
    model = small_pair.below
    qk, ov = qk_circuit(model, layer, head), ov_circuit(model, layer, head)
    attention = {
        name: getattr(model.blocks[layer].attn, name)[head].detach().numpy().astype(np.float64)
        for name in ("W_Q", "b_Q", "W_K", "W_V", "W_O")
    }
    n, d_head = model.cfg.d_vocab, model.cfg.d_head
    for a in range(n):
        query = normed(model, layer, a) @ attention["W_Q"] + attention["b_Q"]
        for b in range(n):
            key = normed(model, layer, b) @ attention["W_K"]
            assert float(qk[a, b]) == pytest.approx(sum(query * key) / np.sqrt(d_head), abs=1e-4)
        written = normed(model, layer, a) @ attention["W_V"] @ attention["W_O"]
        written = (written - written.mean()) * model.ln_final.w.detach().numpy()
        logits = [sum(written * model.W_U.detach().numpy()[:, token]) for token in range(n)]
        for token in range(n):
            assert float(ov[a, token]) == pytest.approx(logits[token] - np.mean(logits), abs=1e-4)


def test_in_layer_0_without_positions_the_qk_circuit_is_the_networks_own(small_setup, small_anchor):
    """Planted: with W_pos = 0 and b_K = 0 nothing is left out, so its softmax is the attention pattern."""
    weights = {name: value.clone() for name, value in small_anchor.weights.items()}
    weights["pos_embed.W_pos"].zero_()
    model = model_from(small_setup.model, small_setup.task.d_vocab, small_setup.task.n_ctx, weights)
    trials = task_of(small_setup).trials(_stream(), 4)
    _, found = capture(model, torch.from_numpy(trials.tokens), [hook_pattern(0)])
    scores = qk_circuit(model, 0, 1)
    for row, tokens in enumerate(trials.tokens):
        expected = torch.softmax(scores[int(tokens[-1]), torch.from_numpy(tokens)], dim=0)
        assert found[hook_pattern(0)][row, 1, -1].numpy() == pytest.approx(expected.numpy(), abs=1e-5)


def _stream():
    from hyst_interp.streams import Stream

    return Stream("evaluation", 5)


def test_circuits_without_layernorm_are_products_of_matrices(small_setup):
    from hyst_interp.model.build import initial_weights

    config = small_setup.model.model_copy(update={"normalization_type": "none"})
    task = small_setup.task
    weights = initial_weights(config, task.d_vocab, task.n_ctx, _stream())
    model = model_from(config, task.d_vocab, task.n_ctx, weights)
    full = model.W_E @ model.W_V[1, 0] @ model.W_O[1, 0] @ model.W_U
    ov = ov_circuit(model, 1, 0)
    assert ov.numpy() == pytest.approx((full - full.mean(-1, keepdim=True)).detach().numpy(), abs=1e-5)


def test_the_exploration_has_both_histories_and_their_difference(explored, small_pair):
    assert explored["pattern"].dims == ("history", "trial", "layer", "head", "query_pos", "key_pos")
    for name in ("pattern", "logits", "margin", "qk", "ov"):
        one = explored[name]
        assert list(one["history"].values) == ["below", "above", "difference"]
        assert one.values[2] == pytest.approx(one.values[0] - one.values[1])
    assert explored["pattern"].values[:2].sum(-1) == pytest.approx(1, abs=1e-5)
    from hyst_interp.questions.gap.measure import behaviour

    margin = behaviour(small_pair.below, small_pair.trials)["margin"][:3]
    assert explored["margin"].sel(history="below").values == pytest.approx(margin, abs=1e-5)


def test_the_page_loads_nothing_and_repeats_itself(explored):
    page = explorer_page(explored)
    outside = Outside()
    outside.feed(page)
    assert outside.found == []
    assert "default-src 'none'" in page
    assert page == explorer_page(explored)
    for label in ("Trial", "Layer", "Head", "History"):
        assert re.search(rf"<label[^>]*>{label}<select", page)


def test_the_page_holds_the_numbers_of_the_data(explored):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', explorer_page(explored), re.S)
    data = json.loads(text)
    for name in ("pattern", "logits", "margin", "qk", "ov"):
        assert np.array(data[name]) / STEPS == pytest.approx(explored[name].values[:2], abs=1 / STEPS)
    assert data["tokens"] == explored["tokens"].values.tolist()


def test_names_from_outside_are_escaped(explored):
    page = explorer_page(explored.assign_attrs(below="<script>alert(1)</script>"))
    assert "<script>alert" not in page


def test_in_a_notebook_the_page_shows_itself_in_a_frame(explored):
    page = explorer_page(explored)
    assert repr(page).startswith("ExplorerPage(")
    assert len(repr(page)) < 80
    assert page._repr_html_().startswith("<iframe")
    assert "<script" not in page._repr_html_()


def test_what_the_page_cannot_show_is_refused(explored, one_sentence):
    with pytest.raises(UserError) as error:
        explorer_page(explored.drop_vars("qk"))
    one_sentence(error.value, "qk")
    with pytest.raises(UserError) as error:
        explorer_page(explored.assign(margin=explored["margin"] * np.nan))
    one_sentence(error.value, "margin", "finite")


@pytest.mark.parametrize("name", ["qk", "ov", "pattern"])
def test_a_heads_matrix_is_a_panel_a_history(explored, name):
    array = explored[name].isel(trial=1) if name == "pattern" else explored[name]
    figure = head_maps(array.sel(layer=1, head=0))
    assert len(figure.data) == 3
    assert "L1H0" in figure.layout.title.text
    for trace, values in zip(figure.data, array.sel(layer=1, head=0).values, strict=True):
        assert np.asarray(trace.z) == pytest.approx(values, abs=1e-4)
    with pytest.raises(UserError, match="history"):
        head_maps(explored[name])
