"""What an edit leaves alone: cached activations, the user's own hooks, and the model, also when something fails."""

import numpy as np
import pytest
import torch

from hyst_interp.errors import UserError
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.hooks import hooks_of
from hyst_interp.interventions.install import HookNeverFiredError, capture, installed
from hyst_interp.interventions.patching import patching_map
from hyst_interp.interventions.sweep import run, sweep
from hyst_interp.sites import Site

MLP = "blocks.0.hook_mlp_out"
EDITS = {
    "resid_pre": Edit(Site("resid_pre", 1), Reference(torch.ones(32), False)),
    "final": Edit(Site("resid_pre", 2), Reference(torch.ones(32), False)),
    "mlp_out": Edit(Site("mlp_out", 0), Reference(torch.ones(32), False)),
    "pattern": Edit(Site("pattern", 0, 1), Reference(torch.full((7,), 1 / 7), False)),
    "result": Edit(Site("result", 0, 1), Reference(torch.ones(16), False)),
    "result in the stream": Edit(Site("result", 0, 1), Reference(torch.ones(32), False, "stream")),
}
MASKS = {"everywhere": None, "query": np.arange(7) == 6, "by trial": np.eye(7, dtype=bool)}


def state(model) -> dict[str, tuple]:
    """Every hook of every hook point: torch's own tables, and what TransformerLens keeps of them."""
    return {
        name: (
            tuple(point._forward_hooks.items()),
            tuple(point._forward_pre_hooks.items()),
            tuple(point._backward_hooks.items()),
            tuple(id(one) for one in point.fwd_hooks),
            tuple(id(one) for one in point.bwd_hooks),
        )
        for name, point in model.hook_dict.items()
    }


@pytest.fixture
def user(network):
    """The network with two hooks of the user's own; every firing is noted as (hook, tensor, its value then)."""
    seen: list[tuple[str, torch.Tensor, torch.Tensor]] = []

    def note(act, hook):
        seen.append((hook.name, act, act.clone()))

    names = [MLP, "blocks.0.attn.hook_z", "blocks.0.attn.hook_pattern", "blocks.0.hook_attn_out"]
    names += ["blocks.1.hook_resid_pre", "blocks.1.hook_resid_post"]
    for name in names:
        network.add_hook(name, note)
    yield names, seen
    network.reset_hooks()


@pytest.mark.parametrize("mask", list(MASKS))
@pytest.mark.parametrize("kind", list(EDITS))
def test_hooks_return_new_tensors_and_leave_their_argument_as_it_was(network, tokens, kind, mask):
    edit = Edit(EDITS[kind].site, EDITS[kind].reference, 1.0, MASKS[mask])
    _, cache = network.run_with_cache(tokens)
    changed = 0
    for name, hook in hooks_of(edit, network):
        act = cache[name].detach()
        before = act.clone()
        out = hook(act, hook=None)
        assert torch.equal(act, before)
        if out is not act:
            assert out.untyped_storage().data_ptr() != act.untyped_storage().data_ptr()
            changed += not torch.equal(out, act)
    assert changed == 1


@pytest.mark.parametrize("kind", list(EDITS))
def test_activations_that_others_hold_are_not_rewritten(network, tokens, user, kind):
    _, seen = user
    _, held = capture(network, tokens, [MLP])
    _, cache = network.run_with_cache(tokens)
    copies = {name: value.clone() for name, value in cache.items()}
    kept = held[MLP].clone()
    seen.clear()
    run(network, tokens, [EDITS[kind]])
    assert seen
    assert all(torch.equal(act, then) for _, act, then in seen)
    assert torch.equal(held[MLP], kept)
    assert all(torch.equal(cache[name], value) for name, value in copies.items())


def test_what_is_captured_is_a_copy(network, tokens, user):
    _, seen = user
    _, found = capture(network, tokens, [MLP])
    (act,) = [act for name, act, _ in seen if name == MLP]
    assert torch.equal(found[MLP], act)
    assert found[MLP].untyped_storage().data_ptr() != act.untyped_storage().data_ptr()


@pytest.mark.parametrize("kind", list(EDITS))
def test_the_users_hooks_still_fire_and_survive(network, tokens, user, kind):
    names, seen = user
    before = state(network)
    run(network, tokens, [EDITS[kind]])
    assert sorted(name for name, _, _ in seen) == sorted(names)
    assert state(network) == before
    seen.clear()
    network(tokens)
    assert sorted(name for name, _, _ in seen) == sorted(names)


def test_a_users_own_edit_takes_part(network, tokens):
    """A hook of the user's that changes the network changes what we measure, and ours come after it."""
    plain = network(tokens)
    network.add_hook(MLP, lambda act, hook: act * 0)
    try:
        assert torch.equal(run(network, tokens, []), network(tokens))
        assert not torch.equal(run(network, tokens, []), plain)
        assert not capture(network, tokens, [MLP])[1][MLP].any()
    finally:
        network.reset_hooks()


def test_every_call_leaves_the_model_as_it_found_it(network, twins, user):
    before = state(network)
    trials = twins["value"]
    sweep(network, trials, [[edit] for edit in EDITS.values()])
    for kind in ("resid_pre", "result", "mlp_out", "pattern"):
        patching_map(network, trials.take(slice(0, 2)), kind)
    assert state(network) == before


def test_an_error_inside_the_forward_leaves_the_model_as_it_was(network, tokens, user):
    before = state(network)
    wrong = Edit(Site("mlp_out", 0), Reference(torch.ones(6, 32), False))  # one position less than the prompts have
    hooks = [hook for edit in (EDITS["resid_pre"], wrong) for hook in hooks_of(edit, network)]
    with pytest.raises(UserError, match=r"\[6, 32\]"), installed(network, hooks):
        network(tokens)
    assert state(network) == before
    with pytest.raises(KeyError), installed(network, hooks_of(EDITS["mlp_out"], network)):
        raise KeyError("the block's own error, not ours")
    assert state(network) == before


def test_a_hook_that_never_fires_is_named_and_removed(network, tokens, user):
    """TransformerLens accepts `hook_result` and, by default, never reaches it."""
    before = state(network)
    silent = "blocks.1.attn.hook_result"
    hooks = [*hooks_of(EDITS["mlp_out"], network), (silent, lambda act, hook: act)]
    with pytest.raises(HookNeverFiredError, match=silent), installed(network, hooks):
        network(tokens)
    assert state(network) == before
    with pytest.raises(HookNeverFiredError, match=MLP), installed(network, hooks_of(EDITS["mlp_out"], network)):
        pass
    assert state(network) == before


def test_a_hook_that_is_not_reached_because_the_forward_stops_is_named(network, tokens):
    hooks = hooks_of(Edit(Site("mlp_out", 1), Reference(torch.ones(32), False)), network)
    with pytest.raises(HookNeverFiredError, match=r"blocks\.1\.hook_mlp_out"), installed(network, hooks):
        network(tokens, stop_at_layer=1)


def test_an_unknown_hook_is_named_before_anything_is_installed(network, tokens):
    before, calls = state(network), []
    hooks = [(MLP, lambda act, hook: calls.append(1)), ("blocks.9.hook_mlp_out", lambda act, hook: act)]
    with pytest.raises(ValueError, match=r"blocks\.9\.hook_mlp_out"), installed(network, hooks):
        network(tokens)
    assert not calls
    assert state(network) == before
    with pytest.raises(ValueError, match=r"blocks\.7"):
        capture(network, tokens, ["blocks.7.hook_resid_pre"])
    assert state(network) == before


def test_no_gradient_is_recorded(network, tokens):
    assert not run(network, tokens, [EDITS["mlp_out"]]).requires_grad
    logits, acts = capture(network, tokens, [MLP])
    assert not logits.requires_grad
    assert not acts[MLP].requires_grad
