"""What components are replaced by: means against a plain loop, donors against TransformerLens's own hooks."""

import numpy as np
import pytest
import torch
from transformer_lens.utilities import get_act_name

from hyst_interp.interventions import references
from hyst_interp.interventions.edit import Reference
from hyst_interp.interventions.references import edits_for, means, own_mean, query_only, stream_mean, written_by
from hyst_interp.interventions.sweep import run, sweep
from hyst_interp.readout import chunks
from hyst_interp.sites import Component, components

EVERY = components(2, 2)
HEADS = [c for c in EVERY if c.is_head]


@pytest.fixture(scope="module")
def looped(network, small_pair) -> dict[str, torch.Tensor]:
    """Means over 50 inputs, one prompt at a time, in float64."""
    names = [get_act_name(kind, layer) for kind in ("z", "mlp_out", "attn_out") for layer in (0, 1)]
    totals = {name: 0 for name in names}
    inputs = small_pair.inputs.take(slice(0, 50))
    for prompt in inputs.tokens:
        _, cache = network.run_with_cache(torch.from_numpy(prompt)[None], names_filter=names)
        totals = {name: total + cache[name][0].double() for name, total in totals.items()}
    return {name: (total / 50).detach() for name, total in totals.items()}


@pytest.mark.parametrize("size", [512, 19, 1])
def test_means_equal_a_plain_loop_whatever_the_chunks(network, small_pair, looped, monkeypatch, size):
    """Chunks of 19, 19, and 12: a mean of the chunks' means would be another number."""
    monkeypatch.setattr(references, "chunks", lambda n: chunks(n, size))
    found = means(network, small_pair.inputs.take(slice(0, 50)), EVERY)
    assert set(found.z) == set(HEADS)
    assert set(found.written) == set(EVERY)
    for c in EVERY:
        if c.is_head:
            z = looped[get_act_name("z", c.layer)][:, c.head]
            torch.testing.assert_close(found.z[c].double(), z, rtol=0, atol=2e-6)
            written = z @ network.blocks[c.layer].attn.W_O[c.head].detach().double()
        else:
            written = looped[get_act_name("mlp_out", c.layer)]
        torch.testing.assert_close(found.written[c].double(), written, rtol=0, atol=1e-5)


def test_the_loop_can_tell_a_mean_over_the_wrong_axis_or_with_the_wrong_weights(network, small_pair, looped):
    _, cache = network.run_with_cache(torch.from_numpy(small_pair.inputs.take(slice(0, 50)).tokens))
    act = cache["mlp_out", 0].detach().double()
    unequal = torch.stack([act[a:b].mean(0) for a, b in ((0, 19), (19, 38), (38, 50))]).mean(0)
    name = get_act_name("mlp_out", 0)
    assert (unequal - looped[name]).abs().max() > 1e-3
    assert (act.mean((0, 1)) - looped[name]).abs().max() > 1e-2


def test_mean_contributions_and_the_bias_are_the_mean_of_what_attention_adds(network, small_pair, looped):
    found = means(network, small_pair.inputs.take(slice(0, 50)), HEADS)
    for layer in (0, 1):
        total = found.written[Component(layer, 0)] + found.written[Component(layer, 1)]
        total = total + network.blocks[layer].attn.b_O.detach()
        torch.testing.assert_close(total.double(), looped[get_act_name("attn_out", layer)], rtol=0, atol=1e-5)


@pytest.mark.parametrize("members", [HEADS[:1], HEADS, list(EVERY)], ids=["one head", "heads", "all"])
@pytest.mark.parametrize("where", ["query", "all"])
def test_own_mean_in_its_own_frame_and_in_the_stream_agree(network, small_pair, members, where):
    own = means(network, small_pair.inputs, members)
    positions = query_only(7) if where == "query" else None
    tables = [{c: own_mean(c, own) for c in members}, {c: stream_mean(c, own) for c in members}]
    trials = small_pair.trials.take(slice(0, 32))
    found = sweep(network, trials, [edits_for(members, table, positions) for table in tables] + [[]])["margin"]
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=2e-5)
    assert np.abs(found[0] - found[2]).max() > 1e-2


def test_a_pooled_mean_is_the_average_of_the_networks_means(network, donor_network, small_pair):
    both = [means(model, small_pair.inputs, EVERY) for model in (network, donor_network)]
    for c in EVERY:
        expected = (both[0].written[c] + both[1].written[c]) / 2
        torch.testing.assert_close(stream_mean(c, *both).values, expected, rtol=0, atol=1e-6)
        assert stream_mean(c, *both).frame == "stream"
    assert any(not torch.equal(both[0].written[c], both[1].written[c]) for c in EVERY)


@pytest.mark.parametrize("where", ["query", "all"])
def test_a_network_as_its_own_donor_changes_nothing_exactly(network, tokens, where):
    given = {c: Reference(v, True, "stream") for c, v in written_by(network, tokens, EVERY).items()}
    positions = query_only(7) if where == "query" else None
    for members in ([c] for c in EVERY):
        assert torch.equal(run(network, tokens, edits_for(members, given, positions)), network(tokens))
    assert torch.equal(run(network, tokens, edits_for(EVERY, given, positions)), network(tokens))


@pytest.mark.parametrize("where", ["query", "all"])
@pytest.mark.parametrize("members", [[Component(0, 1)], HEADS, list(EVERY)], ids=["one head", "heads", "all"])
def test_a_donor_equals_transformer_lens_hooks_one_trial_at_a_time(
    network, donor_network, twins, tokens, margin_with, members, where
):
    trials = twins["value"]
    given = {c: Reference(v, True, "stream") for c, v in written_by(donor_network, tokens, members).items()}
    positions = query_only(7) if where == "query" else None
    found = sweep(network, trials, [edits_for(members, given, positions), []])["margin"]
    place = slice(6, 7) if where == "query" else slice(None)
    for i in range(len(trials)):
        _, donor = donor_network.run_with_cache(tokens[i : i + 1])
        hooks = []
        for layer in (0, 1):
            heads = [c.head for c in members if c.is_head and c.layer == layer]
            hooks += _donor_attention(network, donor_network, donor, layer, heads, place) if heads else []
            if Component(layer) in members:
                hooks.append((get_act_name("mlp_out", layer), _put(donor["mlp_out", layer], place)))
        expected = margin_with(network, trials.tokens[i], hooks, trials.contextual[i], trials.fixed[i])
        assert found[0, i] == pytest.approx(expected, abs=2e-5)
    assert np.abs(found[0] - found[1]).max() > 1e-2


def _put(value, place):
    def hook(act, hook):
        act[:, place] = value[:, place]
        return act

    return hook


def _donor_attention(network, donor_network, donor, layer, heads, place):
    """Read z of the network itself, write at attn_out: minus what its heads write, plus what the donor's do."""
    own = {}

    def read(act, hook):
        own["z"] = act.clone()

    def write(act, hook):
        for head in heads:
            minus = own["z"][:, :, head] @ network.blocks[layer].attn.W_O[head]
            plus = donor["z", layer][:, :, head] @ donor_network.blocks[layer].attn.W_O[head]
            act[:, place] += (plus - minus)[:, place]
        return act

    return [(get_act_name("z", layer), read), (get_act_name("attn_out", layer), write)]


@pytest.mark.parametrize("where", ["query", "all"])
def test_a_donor_of_everything_leaves_only_what_no_component_owns(network, donor_network, tokens, where):
    """Final stream = own embedding + own b_O + all that the donor's components write; ln_final and W_U stay own."""
    given = {c: Reference(v, True, "stream") for c, v in written_by(donor_network, tokens, EVERY).items()}
    positions = query_only(7) if where == "query" else None
    found = run(network, tokens, edits_for(EVERY, given, positions))[:, -1]
    _, donor = donor_network.run_with_cache(tokens)
    stream = network.embed(tokens) + network.pos_embed(tokens)
    for layer in (0, 1):
        b_o = network.blocks[layer].attn.b_O - donor_network.blocks[layer].attn.b_O
        stream = stream + donor["attn_out", layer] + b_o + donor["mlp_out", layer]
    expected = network.unembed(network.ln_final(stream))[:, -1].detach()
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-5)
    assert (found - network(tokens)[:, -1]).abs().max() > 1e-2
    assert (found - donor_network(tokens)[:, -1]).abs().max() > 1e-2


def test_edits_go_to_the_places_of_their_components(small_pair, network):
    own = means(network, small_pair.inputs.take(slice(0, 8)), EVERY)
    edits = edits_for(reversed(EVERY), {c: own_mean(c, own) for c in EVERY}, query_only(7), 0.5)
    places = {(e.site.kind, e.site.layer, e.site.head) for e in edits}
    assert places == {("result", 0, 0), ("result", 0, 1), ("result", 1, 0), ("result", 1, 1)} | {
        ("mlp_out", 0, None),
        ("mlp_out", 1, None),
    }
    assert {e.strength for e in edits} == {0.5}
    assert all(e.positions.tolist() == [False] * 6 + [True] for e in edits)
