"""One formula: strength 0 is the identity bit for bit, 1 puts the reference in, and between them lies a line."""

import numpy as np
import pytest
import torch
from transformer_lens.utilities import get_act_name

from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.hooks import contribution, hooks_of
from hyst_interp.interventions.install import capture, installed
from hyst_interp.interventions.references import written_by
from hyst_interp.interventions.sweep import run
from hyst_interp.model.build import model_of
from hyst_interp.sites import Component, Site

SITES = [
    (Site("resid_pre", 0), "site"),
    (Site("resid_pre", 1), "site"),
    (Site("resid_pre", 2), "site"),
    (Site("mlp_out", 0), "site"),
    (Site("mlp_out", 1), "stream"),
    (Site("pattern", 0, 1), "site"),
    (Site("pattern", 1, 0), "site"),
    (Site("result", 0, 0), "site"),
    (Site("result", 1, 1), "site"),
    (Site("result", 0, 0), "stream"),
    (Site("result", 1, 1), "stream"),
]
IDS = [f"{site.kind}-{site.layer}-{frame}" for site, frame in SITES]
ALL = pytest.mark.parametrize(("site", "frame"), SITES, ids=IDS)


def place(site: Site, frame: str) -> str:
    """The hook at which the edit becomes visible, by TransformerLens's own names."""
    if site.kind == "resid_pre":
        return get_act_name("resid_pre", site.layer) if site.layer < 2 else get_act_name("resid_post", 1)
    if site.kind == "result":
        return get_act_name("attn_out" if frame == "stream" else "z", site.layer)
    return get_act_name(site.kind, site.layer)


def part(act: torch.Tensor, site: Site, frame: str) -> torch.Tensor:
    """The site's own part of an activation."""
    if site.kind == "pattern":
        return act[:, site.head]
    return act[:, :, site.head] if site.kind == "result" and frame == "site" else act


def reference(model, prompts: torch.Tensor, site: Site, frame: str) -> Reference:
    """What the site holds on other prompts, per trial."""
    if site.kind == "result" and frame == "stream":
        head = Component(site.layer, site.head)
        return Reference(written_by(model, prompts, [head])[head], True, "stream")
    _, cache = model.run_with_cache(prompts)
    return Reference(part(cache[place(site, frame)], site, frame).detach().clone(), True, frame)


def after(model, tokens: torch.Tensor, edit: Edit, name: str) -> torch.Tensor:
    """The activation at `name` while the edit is in place."""
    with installed(model, hooks_of(edit, model)):
        return capture(model, tokens, [name])[1][name]


@ALL
def test_strength_zero_is_the_identity_bit_for_bit(network, tokens, foreign, site, frame):
    given = reference(network, foreign, site, frame)
    plain = network(tokens)
    assert torch.equal(run(network, tokens, [Edit(site, given, 0.0)]), plain)
    assert not torch.equal(run(network, tokens, [Edit(site, given, 1.0)]), plain)


def test_strength_zero_does_not_even_read_the_reference(network, tokens):
    nothing = Reference(torch.full((32,), float("nan")), False, "stream")
    assert torch.equal(run(network, tokens, [Edit(Site("result", 0, 0), nothing, 0.0)]), network(tokens))


@ALL
@pytest.mark.parametrize("strength", [0.25, 0.5, 0.75, 1.0, 1.5, -0.5])
def test_the_edit_is_a_line_from_the_activation_to_the_reference(network, tokens, foreign, site, frame, strength):
    given = reference(network, foreign, site, frame)
    name = place(site, frame)
    act = capture(network, tokens, [name])[1][name]
    found = after(network, tokens, Edit(site, given, strength), name)
    if site.kind == "result" and frame == "stream":
        z = capture(network, tokens, [get_act_name("z", site.layer)])[1][get_act_name("z", site.layer)]
        own = torch.einsum("bpd,dm->bpm", z[:, :, site.head], network.blocks[site.layer].attn.W_O[site.head])
        expected = act + strength * (given.values - own)
    else:
        expected = act.clone()
        part(expected, site, frame)[:] = (1 - strength) * part(act, site, frame) + strength * given.values
    torch.testing.assert_close(found, expected.detach(), rtol=0, atol=1e-5)


@ALL
def test_strength_one_puts_the_reference_in_and_touches_nothing_else(network, tokens, foreign, site, frame):
    given, name = reference(network, foreign, site, frame), place(site, frame)
    where = np.zeros(tokens.shape[1], dtype=bool)
    where[[3, 6]] = True
    act = capture(network, tokens, [name])[1][name]
    found = after(network, tokens, Edit(site, given, 1.0, where), name)
    expected = act.clone()
    if site.kind == "result" and frame == "stream":
        assert torch.equal(found[:, ~where], act[:, ~where])
        own = written_by(network, tokens, [Component(site.layer, site.head)])[Component(site.layer, site.head)]
        torch.testing.assert_close(found[:, where], (act - own + given.values)[:, where], rtol=0, atol=1e-5)
        return
    part(expected, site, frame)[:, where] = given.values[:, where]
    assert torch.equal(found, expected)
    assert not torch.equal(found, act)


@pytest.mark.parametrize("shape", [(), (32,), (7, 32)], ids=["scalar", "vector", "by position"])
def test_a_reference_without_a_trial_axis_is_the_same_for_every_trial(network, tokens, shape):
    values = torch.arange(int(np.prod(shape)) or 1, dtype=torch.float32).reshape(shape) / 100
    found = after(network, tokens, Edit(Site("mlp_out", 0), Reference(values, False)), "blocks.0.hook_mlp_out")
    assert torch.equal(found, values.expand(7, 7, 32))


def test_final_residual_stream_at_the_query_gives_the_donors_logits(network, tokens, foreign):
    donor, cache = network.run_with_cache(foreign)
    query = np.arange(7) == 6
    given = Reference(cache["resid_post", 1], True)
    found = run(network, tokens, [Edit(Site("resid_pre", 2), given, 1.0, query)])
    plain = network(tokens)
    torch.testing.assert_close(found[:, -1], donor[:, -1].detach(), rtol=0, atol=1e-6)
    torch.testing.assert_close(found[:, :-1], plain[:, :-1].detach(), rtol=0, atol=1e-6)
    assert (plain - donor)[:, -1].abs().max() > 0.1


def test_prompt_embedding_at_all_positions_gives_the_donors_logits(network, tokens, foreign):
    donor, cache = network.run_with_cache(foreign)
    found = run(network, tokens, [Edit(Site("resid_pre", 0), Reference(cache["resid_pre", 0], True))])
    assert torch.equal(found, donor)


@pytest.mark.parametrize("layer", [0, 1])
def test_heads_contributions_and_the_bias_sum_to_what_attention_adds(network, tokens, layer):
    _, cache = network.run_with_cache(tokens)
    w_o = network.blocks[layer].attn.W_O.detach()
    total = sum(contribution(cache["z", layer][:, :, head], w_o[head]) for head in range(2))
    torch.testing.assert_close(
        total + network.blocks[layer].attn.b_O.detach(), cache["attn_out", layer], rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("frame", ["site", "stream"])
@pytest.mark.parametrize("layer", [0, 1])
def test_the_bias_stays_where_all_heads_of_a_layer_write_nothing(small_setup, network, tokens, layer, frame):
    """ACDC's trap: ablating a head also removed a bias."""
    model = model_of(small_setup, dict(network.named_parameters()))
    bias = torch.linspace(-1, 1, 32)
    with torch.no_grad():
        model.blocks[layer].attn.b_O.copy_(bias)
    nothing = Reference(torch.zeros(16 if frame == "site" else 32), False, frame)
    query, name = np.arange(7) == 6, get_act_name("attn_out", layer)
    before = capture(model, tokens, [name])[1][name]
    hooks = [
        hook for head in (0, 1) for hook in hooks_of(Edit(Site("result", layer, head), nothing, 1.0, query), model)
    ]
    with installed(model, hooks):
        found = capture(model, tokens, [name])[1][name]
    torch.testing.assert_close(found[:, -1], bias.expand(7, 32), rtol=0, atol=1e-5)
    torch.testing.assert_close(found[:, :-1], before[:, :-1], rtol=0, atol=1e-6)
    assert (before[:, -1] - bias).abs().max() > 0.01
