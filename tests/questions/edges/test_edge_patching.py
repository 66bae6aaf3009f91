"""Edges patched exactly: the oracle's logits for edges and sets, both ends bit for bit, and effects that must be 0."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from edge_models import linear, noisy, oracle, silence, some_sets, twins_of, what_sources_write

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.errors import UserError
from hyst_interp.interventions.references import written_by
from hyst_interp.questions.edges.edge_forward import graph_of, record
from hyst_interp.questions.edges.graph import Edge, Graph, edge
from hyst_interp.questions.edges.measure import (
    edge_effects,
    edge_logits,
    edges_of,
    gap_effects,
    pair_effects,
    twin_runs,
)
from hyst_interp.questions.edges.pair_summary import MOVED, edge_table, gap_edge_table
from hyst_interp.sites import component
from hyst_interp.tasks.registry import task_of

BUILDS = [
    {},
    {"n_layers": 1},
    {"n_layers": 3},
    {"d_mlp": 0},
    {"normalization_type": "none"},
    {"act_fn": "gelu_new"},
    {"act_fn": "relu", "n_heads": 4},
]


@pytest.mark.parametrize("change", BUILDS, ids=str)
def test_edges_and_sets_are_the_oracles(small_setup, change):
    model, trials = noisy(**change), twins_of(small_setup)
    clean, corrupted = twin_runs(model, trials)
    donor = what_sources_write(model, trials.corrupted)
    edges = graph_of(model).edges
    singles = [[one] for one in edges[:: 7 if change else 1]]
    for cell in [*singles, *some_sets(edges, 3), [], list(edges)]:
        plain = oracle(model, trials.tokens, donor, cell)
        fast = edge_logits(model, clean, corrupted.messages, cell)
        torch.testing.assert_close(fast, plain, atol=1e-5, rtol=1e-5)


def test_the_oracle_is_no_tautology(small_setup):
    model, trials = noisy(), twins_of(small_setup)
    donor = what_sources_write(model, trials.corrupted)
    base = oracle(model, trials.tokens, donor, [])
    moved = [(oracle(model, trials.tokens, donor, [one]) - base).abs().max() for one in (Graph(2, 2).edges[-3:])]
    assert min(moved) > 1e-3
    other = oracle(model, trials.tokens, donor, [edge("L0H1→L1H0.k")])
    assert (other - oracle(model, trials.tokens, donor, [edge("L0H1→L1H0.v")])).abs().max() > 1e-4


@pytest.mark.parametrize("kind", ["value", "rename", "query"])
@pytest.mark.parametrize("change", [{}, {"n_layers": 3}, {"d_mlp": 0}], ids=str)
def test_no_edge_is_the_base_run_and_all_edges_are_the_donors_bit_for_bit(small_setup, kind, change):
    model, trials = noisy(**change), twins_of(small_setup, kind=kind)
    for direction in ("noise", "denoise"):
        base, donor = twin_runs(model, trials, direction)
        assert torch.equal(edge_logits(model, base, donor.messages, []), base.logits)
        assert torch.equal(edge_logits(model, base, donor.messages, graph_of(model).edges), donor.logits)
        into_logits = [one for one in graph_of(model).edges if one.target == "logits"]
        assert torch.equal(edge_logits(model, base, donor.messages, into_logits), donor.logits)
        assert not torch.equal(base.logits, donor.logits)


def test_messages_are_what_components_write(small_pair):
    run = record(small_pair.below, torch.from_numpy(small_pair.trials.tokens))
    names = [name for name in run.messages if name != "embed"]
    tokens = torch.from_numpy(small_pair.trials.tokens)
    written = written_by(small_pair.below, tokens, [component(name) for name in names])
    for name in names:
        everywhere, own = written[component(name)], run.messages[name]
        torch.testing.assert_close(own, everywhere[:, -own.shape[1] :], atol=1e-5, rtol=1e-5)


def test_a_source_that_writes_the_same_has_effect_exactly_0(small_setup):
    """A value twin leaves the query's token alone: at the query the embedding says nothing new."""
    trials = twins_of(small_setup, 40)
    found = edge_effects(noisy(), trials)["effect"]
    for name in ("embed→L1H0.q", "embed→L1H1.q", "embed→L1MLP", "embed→logits"):
        assert (found.sel(edge=name) == 0).all()
    for name in ("embed→L1H0.v", "L0H0→L1H0.q", "L0MLP→logits", "L1H1→L1MLP"):
        assert (found.sel(edge=name) != 0).all()


def test_positions_before_the_change_do_not_leak(small_setup):
    """Noising all that the last layer's keys and values read changes nothing where the change is the query alone."""
    model, trials = noisy(), twins_of(small_setup, kind="query")
    clean, corrupted = twin_runs(model, trials)
    for name, message in corrupted.messages.items():
        if message.shape[1] > 1:
            assert torch.equal(message[:, :-1], clean.messages[name][:, :-1])


def test_edges_of_a_head_that_writes_nothing_are_exactly_0(small_setup):
    model = silence(noisy(), "0.W_O.1")
    found = edge_effects(model, twins_of(small_setup))["effect"]
    dead = (found["source"] == "L0H1") | (found["target"] == "L0H1")
    assert (found.isel(edge=dead.values) == 0).all()
    assert int(dead.sum()) == 3 + 1 + 6 + 1 + 1
    assert (abs(found.isel(edge=~dead.values)).max("trial") > 0).sum() > 20


def test_the_planted_route_is_found(small_setup):
    """Only L1H1 writes: the answer can come by what its keys and values read, and from it to the logits."""
    model = silence(noisy(), "0.W_O", "0.W_out", "0.b_out", "1.W_out", "1.b_out", "1.W_O.0")
    found = edge_effects(model, twins_of(small_setup))["effect"]
    alive = {str(one) for one in found["edge"].values[(found != 0).any("trial").values]}
    assert alive == {"embed→L1H1.k", "embed→L1H1.v", "L1H1→logits"}
    whole = edge_effects(model, twins_of(small_setup))
    np.testing.assert_allclose(found.sel(edge="L1H1→logits"), whole["donor"] - whole["base"], atol=1e-5)


def test_in_a_linear_network_paths_into_the_logits_add_up(small_setup):
    found = edge_effects(linear(), twins_of(small_setup))
    into = found["effect"].where(found["target"] == "logits", drop=True).sum("edge")
    np.testing.assert_allclose(into, found["donor"] - found["base"], atol=2e-4)


def test_noise_and_denoise_exchange_base_and_donor(small_setup):
    trials = twins_of(small_setup)
    noise, denoise = (edge_effects(noisy(), trials, direction) for direction in ("noise", "denoise"))
    assert np.array_equal(noise["base"], denoise["donor"])
    assert np.array_equal(noise["donor"], denoise["base"])
    assert not np.allclose(noise["effect"], -denoise["effect"], atol=1e-4)


def test_the_margins_effect_is_the_difference_of_both_answers(small_setup):
    found = edge_effects(noisy(), twins_of(small_setup))
    np.testing.assert_allclose(found["contextual_effect"] - found["fixed_effect"], found["effect"], atol=1e-5)


def test_trials_are_independent_and_edges_can_be_chosen(small_setup):
    model, trials = noisy(), twins_of(small_setup, 20)
    some = [edge("L0MLP→L1H1.k"), edge("L1H0→logits")]
    whole = edge_effects(model, trials)["effect"].sel(edge=[str(one) for one in some])
    part = edge_effects(model, trials.take(slice(5, 9)), edges=some)
    np.testing.assert_allclose(part["effect"], whole.isel(trial=slice(5, 9)), atol=1e-5)
    assert edges_of(part) == some


def test_a_network_that_is_its_own_donor_moves_nothing(small_pair):
    same = replace(small_pair, above=small_pair.below, trials=small_pair.trials.take(slice(0, 30)))
    found = gap_effects(same)
    assert (found["margin_after"] == found["margin"]).all()
    assert (gap_edge_table(found)["estimate"].sel(quantity=list(MOVED)) == 0).all()


def test_the_other_historys_messages_are_the_oracles(small_pair):
    trials = small_pair.trials.take(slice(0, 7))
    below, above = noisy(5), noisy(6)
    runs = [record(model, torch.from_numpy(trials.tokens)) for model in (below, above)]
    donor = what_sources_write(above, trials.tokens)
    edges = Graph(2, 2).edges
    for cell in [*([one] for one in edges[::3]), *some_sets(edges, 3)]:
        plain = oracle(below, trials.tokens, donor, cell)
        torch.testing.assert_close(edge_logits(below, runs[0], runs[1].messages, cell), plain, atol=1e-5, rtol=1e-5)


def test_all_edges_of_the_other_history_leave_the_recipients_readout(small_pair):
    """The recipient's final LayerNorm and unembedding of the other's final stream, with the recipient's own b_O."""
    trials, below, above = small_pair.trials.take(slice(0, 7)), noisy(5), noisy(6)
    tokens = torch.from_numpy(trials.tokens)
    base, donor = record(below, tokens), record(above, tokens)
    with torch.no_grad():
        stream = above.run_with_cache(tokens)[1]["blocks.1.hook_resid_post"][:, -1]
        for mine, theirs in zip(below.blocks, above.blocks, strict=True):
            stream = stream + mine.attn.b_O - theirs.attn.b_O
        wanted = below.unembed(below.ln_final(stream[:, None]))[:, 0]
    found = edge_logits(below, base, donor.messages, graph_of(below).edges)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    assert (found - donor.logits).abs().max() > 0.1


def test_the_gap_is_moved_as_donors_move_it(small_pair):
    pair = replace(small_pair, trials=small_pair.trials.take(slice(0, 60)))
    some = [edge("L0MLP→logits"), edge("L1H1→logits"), edge("embed→L0MLP")]
    found, table = gap_effects(pair, some), gap_edge_table(gap_effects(pair, some))
    moved = logits_moved(found)["moved"].astype("float64").mean("trial")
    np.testing.assert_allclose(table["estimate"].sel(quantity="moved"), moved)
    both = table["estimate"].sel(quantity=["into_below", "into_above"])
    np.testing.assert_allclose(both.mean("quantity"), table["estimate"].sel(quantity="moved"))
    np.testing.assert_allclose(
        table["estimate"].sel(quantity="interaction"), -both.diff("quantity").isel(quantity=0) / 2
    )
    one = edge_logits(
        pair.below,
        record(pair.below, torch.from_numpy(pair.trials.tokens)),
        record(pair.above, torch.from_numpy(pair.trials.tokens)).messages,
        some[:1],
    )
    rows = np.arange(60)
    margin = one.numpy()[rows, pair.trials.contextual] - one.numpy()[rows, pair.trials.fixed]
    np.testing.assert_allclose(found["margin_after"].sel(branch="below")[0], margin, atol=1e-5)


def test_the_table_holds_means_intervals_and_the_paired_difference(small_setup, small_pair):
    trials = twins_of(small_setup, 30)
    found = pair_effects(small_pair, trials)
    table = edge_table(found)
    assert list(table["quantity"].values) == ["below", "above", "difference"]
    effect = found["effect"].astype("float64")
    np.testing.assert_allclose(table["estimate"].sel(quantity="below"), effect.sel(branch="below").mean("trial"))
    difference = table.sel(quantity="difference")
    paired = effect.sel(branch="below") - effect.sel(branch="above")
    np.testing.assert_allclose(difference["estimate"], paired.mean("trial"))
    assert (difference["low"] <= difference["estimate"]).all()
    spread = (difference["high"] - difference["low"]).values / 2
    np.testing.assert_allclose(spread, 2.045 * paired.std("trial", ddof=1).values / 30**0.5, rtol=1e-3, atol=1e-12)
    for branch, model in (("below", small_pair.below), ("above", small_pair.above)):
        xr.testing.assert_equal(found["effect"].sel(branch=branch, drop=True), edge_effects(model, trials)["effect"])


def test_the_model_is_left_as_it_was_found(small_setup):
    model = noisy()
    before = {name: value.clone() for name, value in model.named_parameters()}
    edge_effects(model, twins_of(small_setup))
    assert all(torch.equal(value, before[name]) for name, value in model.named_parameters())
    assert not model.cfg.use_split_qkv_input
    assert not any(point._forward_hooks for point in model.hook_dict.values())


def test_refusals(small_setup, one_sentence):
    model, trials = noisy(), twins_of(small_setup)
    plain = evaluation_trials(task_of(small_setup), 5)
    cases = [
        (lambda: edge_effects(model, plain), "twin"),
        (lambda: edge_effects(model, trials, "sideways"), "sideways"),
        (lambda: edge_effects(model, trials, edges=[Edge("L0H7", "logits")]), "L0H7→logits"),
        (lambda: edge_effects(model, trials, edges=[]), "no edges"),
    ]
    for call, word in cases:
        with pytest.raises(UserError) as caught:
            call()
        one_sentence(caught.value, word)
    model.blocks[0].hook_resid_pre.add_hook(lambda act, hook: act)
    with pytest.raises(UserError) as caught:
        edge_effects(model, trials)
    one_sentence(caught.value, "reset_hooks")
    model.reset_hooks()
    model.cfg.positional_embedding_type = "rotary"
    with pytest.raises(UserError) as caught:
        edge_effects(model, trials)
    one_sentence(caught.value, "positional_embedding_type='rotary'")
