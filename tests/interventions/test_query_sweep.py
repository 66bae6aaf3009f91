"""The query sweep equals the plain sweep, cell by cell and trial by trial, and hands over what it does not cover."""

import numpy as np
import pytest
import torch

from hyst_interp.comparison.pair_data import PairData
from hyst_interp.config import ModelConfig
from hyst_interp.interventions import query_sweep as room
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.query_sweep import covers_model, query_sweep
from hyst_interp.interventions.references import edits_for, means, own_mean, query_only, stream_mean, written_by
from hyst_interp.interventions.sweep import sweep
from hyst_interp.model.build import initial_weights, model_from
from hyst_interp.readout import QUANTITIES
from hyst_interp.sites import Component, Site, components
from hyst_interp.streams import Stream


def cells_of(pair: PairData, where: np.ndarray, strength: float) -> list[list[Edit]]:
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


@pytest.mark.parametrize("strength", [1.0, 0.3, 0.0])
def test_equals_the_plain_sweep(small_pair: PairData, strength: float, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [*cells_of(small_pair, query_only(7), strength), []]
    plain = sweep(small_pair.below, small_pair.trials, cells)
    monkeypatch.setattr(room, "sweep", None)  # nothing may be handed over
    fast = query_sweep(small_pair.below, small_pair.trials, cells)
    for name in QUANTITIES:
        np.testing.assert_allclose(fast[name], plain[name], atol=1e-5)


def test_a_foreign_edit_changes_something(small_pair: PairData) -> None:
    cells = cells_of(small_pair, query_only(7), 1.0)
    found = query_sweep(small_pair.below, small_pair.trials, [[], *cells])["margin"]
    assert (np.abs(found[1:] - found[0]).max(1) > 1e-4).all()


@pytest.mark.parametrize(
    "edit",
    [
        Edit(Site("resid_pre", 1), Reference(torch.zeros(32), False), 1.0, query_only(7)),
        Edit(Site("mlp_out", 0), Reference(torch.zeros(32), False), 1.0, None),
        Edit(Site("result", 0, 1), Reference(torch.zeros(16), False), 1.0, np.arange(7) > 4),
    ],
)
def test_other_sites_and_positions_are_handed_over(small_pair: PairData, edit: Edit) -> None:
    plain, fast = (one(small_pair.below, small_pair.trials, [[edit]])["margin"] for one in (sweep, query_sweep))
    assert np.array_equal(plain, fast)


@pytest.mark.parametrize(
    "change", [{"normalization_type": "none"}, {"act_fn": "gelu_new"}, {"d_mlp": 0}, {"n_layers": 3}, {"n_layers": 1}]
)
def test_every_build_gives_the_plain_sweeps_numbers(small_pair: PairData, change: dict) -> None:
    config = ModelConfig(d_model=32, n_heads=2, d_mlp=48).model_copy(update=change)
    weights = initial_weights(config, 13, 7, Stream("initialisation", 101))
    random = torch.Generator().manual_seed(5)
    noisy = {name: value + 0.1 * torch.randn(value.shape, generator=random) for name, value in weights.items()}
    model = model_from(config, 13, 7, noisy)
    members = components(config.n_layers, 2, config.d_mlp > 0)
    own = means(model, small_pair.inputs, members)
    cells = [edits_for([c], {c: own_mean(c, own)}, query_only(7)) for c in members]
    plain, fast = (one(model, small_pair.trials, cells)["margin"] for one in (sweep, query_sweep))
    np.testing.assert_allclose(fast, plain, atol=1e-5)


def test_a_model_with_the_users_hooks_takes_the_whole_forward(small_pair: PairData) -> None:
    model = small_pair.below
    assert covers_model(model)
    model.blocks[1].hook_resid_pre.add_hook(lambda act, hook: act * 1.5)
    try:
        assert not covers_model(model)
        cell = [edits_for([Component(1)], {Component(1): Reference(torch.zeros(32), False)}, query_only(7))]
        plain, fast = (one(model, small_pair.trials, cell)["margin"] for one in (sweep, query_sweep))
        assert np.array_equal(plain, fast)
    finally:
        model.reset_hooks()
    assert covers_model(model)
