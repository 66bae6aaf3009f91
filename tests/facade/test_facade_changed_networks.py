"""Numbers of a pair are those of its networks as they are now: changed ones are measured again, others once."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

import hyst_interp as hi
from hyst_interp.analysis.kept import Kept, network_mark, trials_mark
from hyst_interp.analysis.rows import Rows
from hyst_interp.questions.edges import methods as edges
from hyst_interp.questions.gap import measure as gaps
from hyst_interp.questions.patching import methods as patching
from hyst_interp.storage.checkpoint import save

FEW = 16
KEPT = {
    "margins": lambda pair: pair.margins(),
    "gap": lambda pair: pair.gap(),
    "mean margins": lambda pair: pair.mean_margins(),
    "by stratum": lambda pair: pair.by_stratum(),
    "by key": lambda pair: pair.by_key(),
    "role maps": lambda pair: pair.role_maps("resid_pre", trials=FEW),
    "similarity": lambda pair: pair.similarity(trials=FEW),
    "dominant head": lambda pair: pair.dominant_head(trials=FEW),
    "gain": lambda pair: pair.gain(trials=FEW),
    "edge effects": lambda pair: pair.edge_effects(trials=FEW),
    "edges": lambda pair: pair.edges(trials=FEW),
    "edge attribution": lambda pair: pair.edge_attribution(steps=1, trials=FEW),
}
"""Every question whose answer is made from something that is kept, but the circuit, which takes long."""
SOURCES = ("margins", "role maps", "edge effects")
"""What is kept; all others are made from these."""
MEASURED = ((gaps, "pair_behaviour"), (patching, "patching_map"), (edges, "pair_effects"))
"""Where the networks are run for something that is kept."""


@pytest.fixture(scope="module")
def paths(tmp_path_factory, small_anchor, small_branches):
    root = tmp_path_factory.mktemp("changed")
    save(small_anchor, root / "anchor")
    for branch, state in small_branches.items():
        save(state, root / branch)
    return root


@pytest.fixture
def pair(paths):
    return hi.pair(paths / "below", paths / "above", trials=FEW, anchor=paths / "anchor")


def load_other_weights(model) -> None:
    model.load_state_dict(
        {name: 1.2 * one for name, one in model.state_dict().items() if one.is_floating_point()}, False
    )


def write_in_place(model) -> None:
    model.blocks[1].attn.W_O.data[0] *= 0.3


def update(model) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    model(torch.arange(7)[None]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


WRITES = [load_other_weights, write_in_place, update]


def hang_a_hook_on(model) -> None:
    model.blocks[0].hook_mlp_out.add_hook(lambda act, hook: 0.5 * act)


def hang_a_torch_hook_on_a_block(model) -> None:
    model.blocks[1].attn.register_forward_hook(lambda module, given, out: 0.5 * out)


def replace_a_module(model) -> None:
    norm = model.blocks[1].ln2
    norm.__class__ = type(
        "Halved", (type(norm),), {"forward": lambda self, x: 0.5 * super(norm.__class__, self).forward(x)}
    )


def replace_an_activation_function(model) -> None:
    model.blocks[0].mlp.act_fn = torch.tanh


def change_the_configuration(model) -> None:
    model.blocks[0].attn.attn_scale = 1.5


OTHERS = [hang_a_hook_on, hang_a_torch_hook_on_a_block, replace_a_module, replace_an_activation_function]


def same(one: object, other: object) -> bool:
    if isinstance(one, xr.Dataset | xr.DataArray):
        return one.identical(other)
    if isinstance(one, Rows):
        return repr(one) == repr(other) and (one.found is None or one.found.identical(other.found))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*two) for two in zip(one, other, strict=True))
    return one == other


@pytest.mark.parametrize("change", WRITES)
def test_after_new_weights_every_number_is_that_of_a_pair_made_from_them(change, pair, paths, small_branches, tmp_path):
    asked = KEPT if change is load_other_weights else {name: KEPT[name] for name in SOURCES}
    before = {name: ask(pair) for name, ask in asked.items()}
    change(pair.data.below)
    weights = {name: one.detach().clone() for name, one in pair.data.below.named_parameters()}
    save(replace(small_branches["below"], weights=weights), tmp_path / "below")
    fresh = hi.pair(tmp_path / "below", paths / "above", trials=FEW)
    expected = {name: ask(fresh) for name, ask in asked.items()}
    assert [name for name, ask in asked.items() if not same(ask(pair), expected[name])] == []
    assert [name for name in asked if same(before[name], expected[name])] == []
    if change is load_other_weights:
        circuits = [one.circuit(faithfulness=0.5, trials=FEW) for one in (pair, fresh)]
        assert same(*circuits)


@pytest.mark.parametrize("change", [*OTHERS, change_the_configuration])
def test_after_any_other_change_everything_is_measured_again(change, pair, monkeypatch):
    calls = counted(monkeypatch)

    def edges_again(*given):
        calls.append("edges again")
        return xr.Dataset()

    asked = [KEPT[name] for name in ("gap", "edge effects")]
    for ask in asked:
        ask(pair)
    change(pair.data.above)
    monkeypatch.setattr(edges, "pair_effects", edges_again)  # some have no edges now
    for ask in asked:
        ask(pair)
    assert calls == ["pair_behaviour", "pair_effects", "pair_behaviour", "edges again"]


def test_a_hook_that_changes_what_it_does_is_measured_every_time(pair):
    strength = [1.0]
    pair.data.below.blocks[0].hook_mlp_out.add_hook(lambda act, hook: strength[0] * act)
    untouched = pair.gap().estimate
    strength[0] = 0.0
    assert abs(pair.gap().estimate - untouched) > 0.01
    pair.data.below.reset_hooks()
    assert pair.gap().estimate == pytest.approx(untouched, abs=1e-5)


def test_other_trials_are_measured_again(pair, paths):
    pair.gap()
    pair.data.trials.tokens[: FEW // 2] = pair.data.trials.tokens[FEW // 2 :].copy()
    written = pair.margins()
    fresh = hi.pair(paths / "below", paths / "above", trials=FEW)
    assert not same(written, fresh.margins())
    pair.data = replace(pair.data, trials=fresh.data.trials)
    assert same(pair.margins(), fresh.margins())


def counted(monkeypatch) -> list[str]:
    """The names of `MEASURED`, one a call, while the test runs."""
    calls: list[str] = []

    def watched(name, real):
        return lambda *given: calls.append(name) or real(*given)

    for place, name in MEASURED:
        monkeypatch.setattr(place, name, watched(name, getattr(place, name)))
    return calls


def test_unchanged_networks_are_measured_once(pair, monkeypatch):
    calls = counted(monkeypatch)
    for _ in range(2):
        for ask in KEPT.values():
            ask(pair)
        repr(pair)
    maps = 2 * 2 * 2  # sites, histories, twins
    assert sorted(calls) == ["pair_behaviour", "pair_effects", *["patching_map"] * maps]
    write_in_place(pair.data.above)
    pair.gap()
    pair.gap()
    assert calls.count("pair_behaviour") == 2


def test_what_was_handed_out_can_be_written_into(pair):
    for name in ("margins", "edge effects"):
        first = KEPT[name](pair)
        kept = first.copy(deep=True)
        for one in first.data_vars.values():
            one.values[:] = 0
        assert same(KEPT[name](pair), kept)


def test_the_representation_shows_the_gap_only_of_the_networks_as_they_are(pair):
    assert "gap not measured yet" in repr(pair)
    old = pair.gap().text()
    assert old in repr(pair)
    assert old in pair._repr_html_()
    write_in_place(pair.data.below)
    assert "gap not measured yet" in repr(pair)
    assert "gap not measured yet" in pair._repr_html_()
    new = pair.gap().text()
    assert new != old
    assert new in repr(pair)


@pytest.mark.parametrize("change", [*WRITES, *OTHERS, change_the_configuration])
@pytest.mark.parametrize("side", ["below", "above", "anchor"])
def test_what_reads_the_checkpoint_is_refused_once_its_network_is_changed(change, side, pair, one_sentence):
    change(getattr(pair.data, side))
    asked = [lambda: pair.transplant([0])] + ([] if side == "anchor" else [lambda: pair.weights()])
    for ask in asked:
        with pytest.raises(hi.UserError) as caught:
            ask()
        one_sentence(caught.value, side, f"pair.data.{side}", "undo")


def test_weights_and_transplant_agree_with_the_networks_that_are_not_changed(pair):
    margins = pair.margins()["margin"].values
    np.testing.assert_allclose(pair.weights().found["margin"].values, margins, atol=1e-5)
    found = pair.transplant([0]).found["margin"].sel(optimizer="own", update=0)
    np.testing.assert_allclose(found.values, margins, atol=1e-5)


def test_an_exploration_says_that_a_network_was_changed(pair):
    write_in_place(pair.data.below)
    found = pair.exploration(trials=2).attrs
    assert found["below"].endswith("changed since")
    assert found["above"].endswith(pair.above.manifest.weights[:12])


def test_a_mark_is_the_weights_not_the_object(pair):
    model, again = pair.data.below, pair.below.model()
    assert network_mark(model) == network_mark(again) != network_mark(pair.data.above)
    with torch.no_grad():
        again.b_U[0] = torch.nextafter(again.b_U[0], torch.tensor(1.0))
    assert network_mark(model) != network_mark(again)
    half = pair.below.model().to(torch.bfloat16)
    assert network_mark(half) not in (None, network_mark(model))
    trials = pair.data.trials
    assert trials_mark(trials) == trials_mark(trials.take(slice(None))) != trials_mark(trials.take(slice(1, None)))


def test_without_a_mark_nothing_is_kept():
    marks: list[str | None] = ["a", "a", None, None, "a", "b", "b"]
    calls: list[int] = []
    kept = Kept(lambda: marks.pop(0))
    for _ in range(7):
        kept.get(("key",), lambda: calls.append(1))
    assert len(calls) == 5
