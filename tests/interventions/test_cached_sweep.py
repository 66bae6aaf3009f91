"""The cached sweep equals the plain sweep, cell by cell and trial by trial, whatever is edited, where, and how."""

import numpy as np
import pytest
import torch
from transformer_lens import HookedTransformer

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config import ModelConfig, SetUp
from hyst_interp.interventions import cached_sweep as room
from hyst_interp.interventions.cached_sweep import BUDGET, cached_sweep
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.install import capture
from hyst_interp.interventions.network import BaseRun, Network
from hyst_interp.interventions.patching import grid, hook_at, masks
from hyst_interp.interventions.references import edits_for, means, own_mean, query_only, stream_mean, written_by
from hyst_interp.interventions.sweep import sweep
from hyst_interp.model.build import initial_weights, model_from
from hyst_interp.model.plain_build import covers_model
from hyst_interp.readout import QUANTITIES
from hyst_interp.sites import Component, Site, components
from hyst_interp.streams import Stream
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials

N_POS, WIDTH, HEAD = 7, 32, 16
CHANGES = [{}, {"n_layers": 1}, {"n_layers": 3}, {"d_mlp": 0}, {"act_fn": "relu"}]


def noisy_model(change: dict) -> HookedTransformer:
    """A network of the small task whose every parameter, biases included, is random."""
    config = ModelConfig(d_model=WIDTH, n_heads=2, d_mlp=48).model_copy(update=change)
    weights = initial_weights(config, 13, N_POS, Stream("initialisation", 101))
    random = torch.Generator().manual_seed(5)
    return model_from(
        config, 13, N_POS, {k: v + 0.1 * torch.randn(v.shape, generator=random) for k, v in weights.items()}
    )


def some_edit(random: np.random.Generator, model: HookedTransformer, n_trials: int) -> Edit:
    """Any edit: kind, layer, head, frame, kind of reference, strength, and positions all drawn."""
    kinds = ["resid_pre", "result", "pattern"] + ([] if model.cfg.attn_only else ["mlp_out"])
    kind = str(random.choice(kinds))
    layer = int(random.integers(model.cfg.n_layers + (kind == "resid_pre")))
    head = int(random.integers(2)) if kind in ("result", "pattern") else None
    frame = "stream" if kind == "result" and random.random() < 0.5 else "site"
    width = {"result": HEAD if frame == "site" else WIDTH, "pattern": N_POS}.get(kind, WIDTH)
    per_trial = bool(random.random() < 0.5)
    shape = (n_trials, N_POS, width) if per_trial else (N_POS, width)
    positions = (None, random.random(N_POS) < 0.3, random.random((n_trials, N_POS)) < 0.3)[random.integers(3)]
    strength = float(random.choice([1.0, 1.0, 0.3, -0.5, 0.0]))
    values = torch.from_numpy(random.standard_normal(shape).astype(np.float32))
    return Edit(Site(kind, layer, head), Reference(values, per_trial, frame), strength, positions)


def in_own_place(edits: list[Edit]) -> list[Edit]:
    """At most one edit a site: two edits of one site depend on the order in which they are made."""
    return list({edit.site: edit for edit in edits}.values())


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_any_cell_equals_the_plain_sweep(change: dict, small_pair: PairData, monkeypatch: pytest.MonkeyPatch) -> None:
    model, trials = noisy_model(change), small_pair.trials.take(slice(0, 23))
    random = np.random.default_rng(3)
    cells = [in_own_place([some_edit(random, model, 23) for _ in range(random.integers(4))]) for _ in range(120)]
    plain = sweep(model, trials, cells)
    monkeypatch.setattr(room, "sweep", None)  # nothing may be handed over
    fast = cached_sweep(model, trials, cells)
    for name in QUANTITIES:
        np.testing.assert_allclose(fast[name], plain[name], atol=1e-5)
    assert (np.abs(plain["margin"] - plain["margin"][:1]).max(1) > 1e-3).sum() > 60


@pytest.mark.parametrize("kind", ["resid_pre", "result", "mlp_out", "pattern"])
@pytest.mark.parametrize("axis", ["position", "role"])
def test_patching_cells_of_trained_networks_equal_the_plain_sweep(
    kind: str, axis: str, small_setup: SetUp, small_pair: PairData
) -> None:
    model = small_pair.below
    for twin in ("value", "rename", "query"):
        trials = task_of(small_setup).twin(small_pair.trials, twin)
        plan = grid(kind, 2, 2, axis, trials)
        _, acts = capture(model, torch.from_numpy(trials.tokens), sorted({hook_at(site, 2) for site in plan.sites}))
        own = {site: acts[hook_at(site, 2)] for site in plan.sites}
        heads = {"result": lambda act, head: act[:, :, head], "pattern": lambda act, head: act[:, head]}
        cells = [
            [Edit(site, Reference(heads[kind](own[site], site.head) if kind in heads else own[site], True), 1.0, mask)]
            for site in plan.sites
            for mask in masks(trials, axis)
        ]
        plain, fast = (run(model, trials, cells, corrupted=True)["margin"] for run in (sweep, cached_sweep))
        np.testing.assert_allclose(fast, plain, atol=1e-5)


def replacement_cells(pair: PairData, where: np.ndarray | None, strength: float) -> list[list[Edit]]:
    """Every component and joint sets, by own mean, stream mean, and donor."""
    every = components(pair.below.cfg.n_layers, pair.below.cfg.n_heads)
    own, other = means(pair.below, pair.inputs, every), means(pair.above, pair.inputs, every)
    written = written_by(pair.above, torch.from_numpy(pair.trials.tokens), every)
    tables = [
        {c: own_mean(c, own) for c in every},
        {c: stream_mean(c, own, other) for c in every},
        {c: Reference(value, True, "stream") for c, value in written.items()},
    ]
    sets = [*([c] for c in every), [c for c in every if c.is_head], list(every), [Component(0, 1), Component(1)]]
    return [edits_for(members, table, where, strength) for table in tables for members in sets]


@pytest.mark.parametrize("strength", [1.0, 0.3])
@pytest.mark.parametrize("where", [None, query_only(N_POS)], ids=["all", "query"])
def test_replacements_equal_the_plain_sweep(
    small_pair: PairData, where: np.ndarray | None, strength: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [*replacement_cells(small_pair, where, strength), []]
    plain = sweep(small_pair.below, small_pair.trials, cells)
    monkeypatch.setattr(room, "sweep", None)
    fast = cached_sweep(small_pair.below, small_pair.trials, cells)
    for name in QUANTITIES:
        np.testing.assert_allclose(fast[name], plain[name], atol=1e-5)
    assert (np.abs(fast["margin"][:-1] - fast["margin"][-1]).max(1) > 1e-4).all()


def test_what_stands_there_already_changes_exactly_nothing(small_pair: PairData) -> None:
    model, tokens = small_pair.below, torch.from_numpy(small_pair.trials.tokens)
    every = components(2, 2)
    everywhere, at_query = written_by(model, tokens, every), written_by(model, tokens, every, at_query=True)
    cells = [[]]
    for written, where in ((everywhere, None), (at_query, query_only(N_POS))):
        references = {c: Reference(value, True, "stream") for c, value in written.items()}
        cells += [edits_for([c], references, where) for c in every] + [edits_for(every, references, where)]
    cells += [[edit] for edit in replacement_cells(small_pair, None, 0.0)[-1]]
    found = cached_sweep(model, small_pair.trials, cells)
    for name in QUANTITIES:
        assert (found[name] == found[name][0]).all(), name


def test_what_causality_cuts_off_is_exactly_nothing(small_pair: PairData) -> None:
    """In the last layer, and in the final residual stream, only the query is read."""
    noise = Reference(torch.randn(N_POS, WIDTH, generator=torch.Generator().manual_seed(1)), False)
    z = Reference(noise.values[:, :HEAD], False)
    early = np.arange(N_POS) < N_POS - 1
    cells = [[], [Edit(Site("mlp_out", 1), noise, 1.0, early)], [Edit(Site("result", 1, 0), z, 1.0, early)]]
    cells += [[Edit(Site("resid_pre", 2), noise, 1.0, early)], [Edit(Site("resid_pre", 1), noise, 1.0, early)]]
    margin = cached_sweep(small_pair.below, small_pair.trials, cells)["margin"]
    assert (margin[1:4] == margin[0]).all()
    assert (margin[4] != margin[0]).any()  # the control: keys and values of the last layer come from there


def test_trials_before_their_first_change_are_the_base_run(small_setup: SetUp, small_pair: PairData) -> None:
    """Patching from the twin at a position before the changed token changes nothing, though no mask says so."""
    trials = task_of(small_setup).twin(small_pair.trials, "value")
    _, acts = capture(small_pair.below, torch.from_numpy(trials.corrupted), ["blocks.1.hook_resid_pre"])
    reference = Reference(acts["blocks.1.hook_resid_pre"], True)
    cells = [[], *([Edit(Site("resid_pre", 1), reference, 1.0, place)] for place in np.eye(N_POS, dtype=bool))]
    margin = cached_sweep(small_pair.below, trials, cells)["margin"]
    before = np.arange(N_POS)[:, None] < trials.changed.argmax(1)[None]
    assert before.any()
    assert (margin[1:] == margin[0])[before].all()
    assert (margin[1:] != margin[0])[~before].mean() > 0.5


@pytest.mark.parametrize("budget", [1, 100_000, BUDGET])
def test_the_memory_budget_does_not_matter(small_pair: PairData, budget: int) -> None:
    cells = replacement_cells(small_pair, None, 1.0)
    whole = cached_sweep(small_pair.below, small_pair.trials, cells, budget=10**12)["margin"]
    np.testing.assert_allclose(
        cached_sweep(small_pair.below, small_pair.trials, cells, budget=budget)["margin"], whole, atol=2e-6
    )


def test_chunks_of_trials_do_not_matter(small_pair: PairData, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = replacement_cells(small_pair, query_only(N_POS), 1.0)
    whole = cached_sweep(small_pair.below, small_pair.trials, cells)["margin"]
    monkeypatch.setattr(room, "chunks", lambda n: (slice(at, min(at + 50, n)) for at in range(0, n, 50)))
    np.testing.assert_allclose(cached_sweep(small_pair.below, small_pair.trials, cells)["margin"], whole, atol=2e-6)


def test_the_cache_is_never_written_to(small_pair: PairData) -> None:
    """Edits of a group with one cell meet copies, not the base run's own tensors."""
    noise = torch.full((WIDTH,), 3.0)
    cells = [[Edit(Site(kind, 1), Reference(noise, False))] for kind in ("resid_pre", "mlp_out")]
    cells += [[Edit(Site("result", 1, 0), Reference(noise[:HEAD], False))]]
    together = cached_sweep(small_pair.below, small_pair.trials, [*cells, *cells])["margin"]
    assert np.array_equal(together[:3], together[3:])
    apart = np.concatenate([cached_sweep(small_pair.below, small_pair.trials, [cell])["margin"] for cell in cells])
    np.testing.assert_allclose(together[:3], apart, atol=2e-6)


@pytest.mark.parametrize("change", [{"normalization_type": "none"}, {"act_fn": "gelu_new"}], ids=str)
def test_other_builds_are_handed_over(change: dict, small_pair: PairData) -> None:
    model = noisy_model(change)
    assert not covers_model(model)
    members = components(2, 2)
    own = means(model, small_pair.inputs, members)
    cells = [edits_for([c], {c: own_mean(c, own)}, query_only(N_POS)) for c in members]
    plain, fast = (one(model, small_pair.trials, cells)["margin"] for one in (sweep, cached_sweep))
    assert np.array_equal(fast, plain)


def test_a_model_with_the_users_hooks_takes_the_whole_forward(small_pair: PairData) -> None:
    model = small_pair.below
    assert covers_model(model)
    model.blocks[1].hook_resid_pre.add_hook(lambda act, hook: act * 1.5)
    try:
        assert not covers_model(model)
        cell = [edits_for([Component(1)], {Component(1): Reference(torch.zeros(WIDTH), False)}, query_only(N_POS))]
        plain, fast = (one(model, small_pair.trials, cell)["margin"] for one in (sweep, cached_sweep))
        assert np.array_equal(plain, fast)
    finally:
        model.reset_hooks()
    assert covers_model(model)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_base_run_equals_transformer_lens(change: dict, small_pair: PairData) -> None:
    model, tokens = noisy_model(change), torch.from_numpy(small_pair.trials.tokens[:16])
    base = BaseRun(Network(model), tokens)
    with torch.no_grad():
        logits, cache = model.run_with_cache(tokens)
    torch.testing.assert_close(base.logits, logits[:, -1])
    assert torch.equal(base.resid[-1], cache["resid_post", model.cfg.n_layers - 1])
    for layer in range(model.cfg.n_layers):
        torch.testing.assert_close(base.resid[layer], cache["resid_pre", layer], atol=1e-5, rtol=0)
        torch.testing.assert_close(base.z[layer], cache["z", layer], atol=1e-5, rtol=0)
        torch.testing.assert_close(base.pattern[layer], cache["pattern", layer], atol=1e-5, rtol=0)


def test_trials_without_a_twin_are_refused(small_pair: PairData) -> None:
    with pytest.raises(ValueError, match="no twin"):
        cached_sweep(small_pair.below, small_pair.trials, [[]], corrupted=True)


def test_one_prompt_run_alone_gives_the_same_margin(small_pair: PairData) -> None:
    """The plain reading of one trial: its own prompt, run alone, gives the sweep's margin."""
    trials: Trials = small_pair.trials
    margin = cached_sweep(small_pair.below, trials, [[]])["margin"][0]
    with torch.no_grad():
        logits = small_pair.below(torch.from_numpy(trials.tokens[5:6]))[0, -1]
    assert abs(float(logits[trials.contextual[5]] - logits[trials.fixed[5]]) - margin[5]) < 1e-5
