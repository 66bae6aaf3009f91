"""A sweep over many trials is the same as many sweeps over one, whatever the masks, references, and chunks."""

import numpy as np
import pytest
import torch

from hyst_interp.interventions import sweep as sweeping
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.references import written_by
from hyst_interp.interventions.sweep import run, sweep
from hyst_interp.readout import QUANTITIES, chunks
from hyst_interp.sites import Component, Site


@pytest.fixture(scope="module")
def cells(network, foreign):
    """Cells of every kind: shared and per-trial references, masks for all trials and for each, single and joint."""
    _, cache = network.run_with_cache(foreign)
    by_trial = np.random.default_rng(0).random((7, 7)) < 0.4
    by_trial[3] = False
    first = np.arange(7) < 3
    head = Component(0, 1)
    stream = Reference(written_by(network, foreign, [head])[head], True, "stream")
    shared = Reference(torch.linspace(-1, 1, 32), False)
    return [
        [],
        [Edit(Site("resid_pre", 1), Reference(cache["resid_pre", 1].detach(), True), 1.0, by_trial)],
        [Edit(Site("resid_pre", 0), Reference(cache["resid_pre", 0].detach(), True), 0.7, first)],
        [Edit(Site("mlp_out", 0), Reference(cache["mlp_out", 0].detach(), True), 1.0, first)],
        [Edit(Site("mlp_out", 1), shared, 0.5, by_trial)],
        [Edit(Site("pattern", 0, 0), Reference(cache["pattern", 0][:, 0].detach(), True), 1.0, by_trial)],
        [Edit(Site("result", 1, 0), Reference(cache["z", 1][:, :, 0].detach(), True), 1.0)],
        [Edit(Site("result", 0, 1), stream, 0.8, by_trial), Edit(Site("mlp_out", 0), shared, 0.5, first)],
    ]


@pytest.mark.parametrize("corrupted", [False, True])
def test_batched_equals_one_by_one(network, twins, cells, corrupted):
    trials = twins["value"]
    found = sweep(network, trials, cells, corrupted)
    for trial in range(len(trials)):
        one = slice(trial, trial + 1)
        alone = sweep(network, trials.take(one), [[edit.rows(one) for edit in cell] for cell in cells], corrupted)
        for name in QUANTITIES:
            np.testing.assert_allclose(found[name][:, one], alone[name], rtol=0, atol=5e-6)
    effects = found["margin"][1:] - found["margin"][0]
    assert (np.abs(effects).max(1) > 1e-3).all()


def test_a_mask_with_a_row_a_trial_never_touches_a_trial_whose_row_is_empty(network, twins, cells):
    """circuit-tracer's trap: a position mask that was applied to the batch axis. Here both axes have length 7."""
    found = sweep(network, twins["value"], cells)["margin"]
    for index in (1, 4, 5):
        assert found[index, 3] == found[0, 3]
        assert (found[index] != found[0]).sum() >= 4


def test_a_one_dimensional_mask_is_over_positions(network, tokens):
    given = Reference(torch.full((32,), 3.0), False)
    last = np.arange(7) == 6
    found = run(network, tokens, [Edit(Site("resid_pre", 2), given, 1.0, last)])
    plain = network(tokens)
    assert torch.equal(found[:, :6], plain[:, :6])
    assert (found[:, 6] != plain[:, 6]).any(-1).all()


def test_a_references_row_goes_to_its_own_trial(network, twins, tokens, foreign):
    """Trial i takes row i: after the patch of the whole prompt, trial i is foreign prompt i."""
    _, cache = network.run_with_cache(foreign)
    cell = [Edit(Site("resid_pre", 0), Reference(cache["resid_pre", 0].detach(), True))]
    assert torch.equal(run(network, tokens, cell), network(foreign))


@pytest.mark.parametrize("size", [1, 3, 4])
def test_chunks_of_unequal_size_change_nothing(network, twins, cells, monkeypatch, size):
    trials = twins["value"]
    whole = sweep(network, trials, cells)
    monkeypatch.setattr(sweeping, "chunks", lambda n: chunks(n, size))
    for name, values in sweep(network, trials, cells).items():
        np.testing.assert_allclose(values, whole[name], rtol=0, atol=5e-6)


def test_quantities_are_of_the_clean_trials_answers(network, twins, margin_with):
    trials = twins["rename"]
    found = sweep(network, trials, [[]], corrupted=True)["margin"][0]
    for i in range(len(trials)):
        expected = margin_with(network, trials.corrupted[i], [], trials.contextual[i], trials.fixed[i])
        assert found[i] == pytest.approx(expected, abs=1e-5)


def test_corrupted_prompts_need_a_twin(network, small_pair):
    with pytest.raises(ValueError, match="no twin"):
        sweep(network, small_pair.trials, [[]], corrupted=True)
