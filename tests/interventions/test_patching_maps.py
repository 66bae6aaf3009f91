"""Activation patching against a plain loop over TransformerLens: every site, both axes, both directions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformer_lens import patching as lens_patching
from transformer_lens.utilities import get_act_name

from hyst_interp.interventions import patching
from hyst_interp.interventions.patching import normalised, patching_map
from hyst_interp.readout import chunks
from hyst_interp.tasks.recall import ROLES

KINDS = ("resid_pre", "result", "mlp_out", "pattern")
LABELS = ["k1", "v1", "k2", "v2", "k3", "v3", "q"]
N = 2


def name_of(kind: str, layer: int) -> str:
    """TransformerLens's own name of a site's hook."""
    if kind == "resid_pre" and layer == 2:
        return get_act_name("resid_post", 1)
    return get_act_name({"result": "z"}.get(kind, kind), layer)


def places_of(trials, i: int, axis: str) -> list[list[int]]:
    """The positions of every place of one trial, by a loop over its tokens."""
    if axis == "position":
        return [[p] for p in range(7)]
    first = next(p for p in range(7) if trials.tokens[i, p] != trials.corrupted[i, p])
    key, pair = trials.tokens[i, -1], list(trials.tokens[i, :-1:2])
    own = pair.index(key)
    role = {2 * own: "queried key", 2 * own + 1: "its value", 6: "query"}
    role |= {p: "other keys" if p % 2 == 0 else "other values" for p in range(6) if p not in role}
    return [[p for p in range(7) if role[p] == name and p >= first] for name in ROLES]


def oracle(model, trials, kind: str, direction: str, axis: str, margin_with) -> np.ndarray:
    """Raw effects (layer, [head,] place, trial), one trial and one cell at a time."""
    layers, heads = 3 if kind == "resid_pre" else 2, [0, 1] if kind in ("result", "pattern") else [None]
    found = np.zeros((layers, len(heads), 5 if axis == "role" else 7, len(trials)))
    for i in range(len(trials)):
        source, target = trials.tokens[i], trials.corrupted[i]
        source, target = (source, target) if direction == "denoise" else (target, source)
        answers = (trials.contextual[i], trials.fixed[i])
        _, cache = model.run_with_cache(torch.from_numpy(source)[None])
        base = margin_with(model, target, [], *answers)
        for layer in range(layers):
            for h, head in enumerate(heads):
                for place, positions in enumerate(places_of(trials, i, axis)):
                    name = name_of(kind, layer)

                    def patch(act, hook, cache=cache, name=name, head=head, positions=positions):
                        for p in positions:
                            where = {"result": (0, p, head), "pattern": (0, head, p)}.get(kind, (0, p))
                            act[where] = cache[name][where]
                        return act

                    found[layer, h, place, i] = margin_with(model, target, [(name, patch)], *answers) - base
    return found if kind in ("result", "pattern") else found[:, 0]


@pytest.mark.parametrize("direction", ["denoise", "noise"])
@pytest.mark.parametrize("twin", ["value", "rename"])
@pytest.mark.parametrize("axis", ["position", "role"])
@pytest.mark.parametrize("kind", KINDS)
def test_maps_equal_a_plain_loop_over_transformer_lens(network, twins, margin_with, kind, axis, twin, direction):
    trials = twins[twin].take(slice(0, N))
    found = patching_map(network, trials, kind, direction, axis)
    expected = oracle(network, trials, kind, direction, axis, margin_with)
    head = ("head",) if kind in ("result", "pattern") else ()
    place = "role" if axis == "role" else "pos"
    assert found["effect"].dims == ("layer", *head, place, "trial")
    assert found[place].values.tolist() == (list(ROLES) if axis == "role" else LABELS)
    assert found["layer"].values.tolist() == list(range(3 if kind == "resid_pre" else 2))
    np.testing.assert_allclose(found["effect"].values, expected, rtol=0, atol=2e-5)
    assert np.abs(expected).max() > 1e-2


@pytest.mark.parametrize("kind", KINDS)
def test_the_margins_effect_is_that_of_the_two_logits_apart(network, twins, kind):
    for twin in ("value", "query"):
        found = patching_map(network, twins[twin], kind)
        apart = found["contextual_effect"] - found["fixed_effect"]
        np.testing.assert_allclose(found["effect"].values, apart.values, rtol=0, atol=1e-5)
        assert np.abs(found["fixed_effect"].values).max() > 0


@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_base_and_donor_are_the_runs_patched_into_and_from(network, twins, margin_with, direction):
    trials = twins["value"]
    found = patching_map(network, trials, "mlp_out", direction)
    for i in range(len(trials)):
        answers = (trials.contextual[i], trials.fixed[i])
        clean, corrupted = (margin_with(network, t[i], [], *answers) for t in (trials.tokens, trials.corrupted))
        base, donor = (corrupted, clean) if direction == "denoise" else (clean, corrupted)
        assert float(found["base"][i]) == pytest.approx(base, abs=1e-5)
        assert float(found["donor"][i]) == pytest.approx(donor, abs=1e-5)
    assert np.abs((found["donor"] - found["base"]).values).max() > 0.1


@pytest.mark.parametrize("direction", ["denoise", "noise"])
@pytest.mark.parametrize("axis", ["position", "role"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_self_patch_changes_nothing_exactly(network, twins, kind, axis, direction):
    itself = replace(twins["value"], corrupted=twins["value"].tokens.copy())
    found = patching_map(network, itself, kind, direction, axis)
    for name in ("effect", "contextual_effect", "fixed_effect"):
        assert (found[name].values == 0).all()
    assert (found["base"].values == found["donor"].values).all()
    other = patching_map(network, twins["value"], kind, direction, axis)
    assert (other["effect"].values != 0).any()


@pytest.mark.parametrize("direction", ["denoise", "noise"])
@pytest.mark.parametrize("kind", KINDS)
def test_cells_before_the_changed_token_are_exactly_zero(network, twins, kind, direction):
    """Causality: nothing before the changed value can know of it."""
    trials = twins["value"]
    effect = patching_map(network, trials, kind, direction, "position")["effect"].transpose("trial", "pos", ...).values
    for i in range(len(trials)):
        first = 2 * int(trials.queried_pair[i]) + 1
        assert trials.tokens[i, first] != trials.corrupted[i, first]
        assert (effect[i, :first] == 0).all()
        assert (effect[i, first:] != 0).any()
    by_role = patching_map(network, trials, kind, direction, "role")["effect"]
    assert (by_role.sel(role="queried key").values == 0).all()


def test_cells_away_from_the_query_in_the_last_layer_are_exactly_zero(network, twins):
    for kind in ("result", "mlp_out", "pattern"):
        effect = patching_map(network, twins["rename"], kind, "denoise", "position")["effect"]
        assert (effect.isel(layer=1, pos=slice(0, 6)).values == 0).all()
        assert (effect.isel(layer=0, pos=slice(1, 6)).values != 0).any()
    final = patching_map(network, twins["rename"], "resid_pre", "denoise", "position")["effect"]
    assert (final.isel(layer=2, pos=slice(0, 6)).values == 0).all()


@pytest.mark.parametrize("twin", ["value", "rename", "query"])
@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_final_stream_at_the_query_carries_the_whole_difference(network, twins, twin, direction):
    found = patching_map(network, twins[twin], "resid_pre", direction, "role")
    whole = (found["donor"] - found["base"]).values
    last = found["effect"].sel(role="query").isel(layer=2).values
    np.testing.assert_allclose(last, whole, rtol=0, atol=2e-6)
    assert float(normalised(found).sel(role="query").isel(layer=2)) == pytest.approx(1, abs=1e-5)


def test_normalised_is_a_ratio_of_means_and_no_mean_of_ratios(network, twins):
    found = patching_map(network, twins["value"], "resid_pre", "denoise", "position")
    share = normalised(found).values
    n = found.sizes["trial"]
    full = sum(float(found["donor"][i]) - float(found["base"][i]) for i in range(n)) / n
    for layer in range(3):
        for pos in range(7):
            mean = sum(float(found["effect"][layer, pos, i]) for i in range(n)) / n
            assert share[layer, pos] == pytest.approx(mean / full, abs=1e-6)
    ratios = (found["effect"] / (found["donor"] - found["base"])).mean("trial").values
    assert np.abs(ratios - share).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_of_unequal_size_change_nothing(network, twins, monkeypatch, kind):
    trials = twins["rename"].take(slice(0, 5))
    whole = patching_map(network, trials, kind)
    monkeypatch.setattr(patching, "chunks", lambda n: chunks(n, 3))
    parts = patching_map(network, trials, kind)
    assert parts["effect"].dims == whole["effect"].dims
    for name in whole:
        np.testing.assert_allclose(parts[name].values, whole[name].values, rtol=0, atol=5e-6)


@pytest.mark.parametrize("twin", ["value", "rename"])
def test_transformer_lens_own_patching_agrees(network, twins, twin):
    """`transformer_lens.patching.get_act_patch_resid_pre` with the mean margin as its metric."""
    trials = twins[twin]
    rows = torch.arange(len(trials))

    def metric(logits):
        last = logits[:, -1]
        return (last[rows, torch.from_numpy(trials.contextual)] - last[rows, torch.from_numpy(trials.fixed)]).mean()

    corrupted = torch.from_numpy(trials.corrupted)
    with torch.no_grad():
        _, cache = network.run_with_cache(torch.from_numpy(trials.tokens))
        expected = lens_patching.get_act_patch_resid_pre(network, corrupted, cache, metric).numpy()
    found = patching_map(network, trials, "resid_pre", "denoise", "position")
    margins = (found["effect"] + found["base"]).mean("trial").values
    np.testing.assert_allclose(margins[:2], expected, rtol=0, atol=1e-5)
    assert np.ptp(expected) > 0.1
