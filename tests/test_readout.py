"""The only definition of margin, against a plain loop and closed forms."""

import math

import numpy as np
import pytest
import torch
import xarray as xr

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.readout import CHUNK, QUANTITIES, chunks, dataset, measure, read, strata
from hyst_interp.tasks.registry import task_of

TOLERANCE = {"rtol": 0, "atol": 2e-6}


@pytest.fixture(scope="module")
def trials(small_setup):
    return evaluation_trials(task_of(small_setup), 40, conflict=False)


def some_logits(n: int, d_vocab: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(0, 3, (n, d_vocab))).float()


def test_every_quantity_equals_a_plain_loop(trials):
    logits = some_logits(len(trials), trials.d_vocab)
    found = read(logits, trials)
    assert found.keys() == QUANTITIES.keys()
    for row in range(len(trials)):
        values = [float(x) for x in logits[row]]
        c, f = int(trials.contextual[row]), int(trials.fixed[row])
        others = [values[token] for token in range(trials.first_value, trials.d_vocab) if token not in (c, f)]
        mean = sum(others) / len(others)
        total = sum(math.exp(x) for x in values)
        expected = {
            "margin": values[c] - values[f],
            "contextual_part": values[c] - mean,
            "fixed_part": mean - values[f],
            "contextual_logit": values[c],
            "fixed_logit": values[f],
            "p_contextual": math.exp(values[c]) / total,
            "p_fixed": math.exp(values[f]) / total,
        }
        for name, value in expected.items():
            np.testing.assert_allclose(found[name][row], value, **TOLERANCE)


def test_the_margin_splits_exactly(trials):
    found = read(some_logits(len(trials), trials.d_vocab), trials)
    np.testing.assert_allclose(found["contextual_part"] + found["fixed_part"], found["margin"], **TOLERANCE)


def test_probabilities_are_over_the_full_vocabulary(trials):
    """Equal logits give 1/d_vocab; a rival key takes probability away, and leaves margins alone."""
    logits = torch.zeros(len(trials), trials.d_vocab)
    np.testing.assert_allclose(read(logits, trials)["p_contextual"], 1 / trials.d_vocab, **TOLERANCE)
    rival = logits.clone()
    rival[:, 0] = 20.0
    found = read(rival, trials)
    assert (found["p_contextual"] < 1e-6).all()
    assert (found["margin"] == 0).all()


def test_a_constant_added_to_all_logits_moves_only_raw_logits(trials):
    logits = some_logits(len(trials), trials.d_vocab)
    before, after = read(logits, trials), read(logits + 2, trials)
    for name in QUANTITIES:
        shift = 2.0 if name in ("contextual_logit", "fixed_logit") else 0.0
        np.testing.assert_allclose(after[name], before[name] + shift, rtol=0, atol=2e-5)


def test_the_best_mixture_has_margin_log_odds(trials):
    """The optimal network at mixture p puts p on c and 1−p on f; its margin is log(p/(1−p))."""
    p, conflict = 0.7, trials.take(trials.conflict)
    logits = torch.full((len(conflict), trials.d_vocab), -30.0)
    rows = torch.arange(len(conflict))
    logits[rows, torch.from_numpy(conflict.contextual)] = math.log(p)
    logits[rows, torch.from_numpy(conflict.fixed)] = math.log(1 - p)
    np.testing.assert_allclose(read(logits, conflict)["margin"], math.log(p / (1 - p)), rtol=1e-6)


def test_logits_for_other_trials_are_refused(trials):
    with pytest.raises(ValueError, match=r"39 rows for 40 trials"):
        read(some_logits(39, trials.d_vocab), trials)


@pytest.mark.parametrize(("n", "size"), [(1, 4), (4, 4), (5, 4), (13, 4), (3, 512)])
def test_chunks_cover_every_trial_once_in_order(n, size):
    parts = list(chunks(n, size))
    assert [i for part in parts for i in range(n)[part]] == list(range(n))
    assert all(part.stop - part.start == size for part in parts[:-1])


def test_measure_reads_chunk_by_chunk_and_fewer_trials_are_a_prefix(small_setup):
    n = CHUNK + 30
    many = evaluation_trials(task_of(small_setup), n)
    weights = some_logits(small_setup.task.d_vocab, small_setup.task.d_vocab, 1)
    sizes = []

    def logits_of(tokens: torch.Tensor) -> torch.Tensor:
        assert not torch.is_grad_enabled()
        sizes.append(len(tokens))
        return weights[tokens].sum(1)

    found = measure(logits_of, many)
    assert sizes == [CHUNK, 30]
    whole = read(weights[torch.from_numpy(many.tokens)].sum(1), many)
    fewer = measure(logits_of, many.take(slice(0, CHUNK)))
    for name in QUANTITIES:
        np.testing.assert_array_equal(found[name], whole[name])
        np.testing.assert_array_equal(fewer[name], found[name][:CHUNK])


def test_datasets_carry_unit_and_method(trials):
    found = dataset(read(some_logits(len(trials), trials.d_vocab), trials), ("trial",))
    assert found.sizes == {"trial": len(trials)}
    for name, (method, unit) in QUANTITIES.items():
        assert found[name].attrs == {"units": unit, "method": method}


def test_strata_partition_the_trials(trials):
    found = strata(trials.fixed_present, trials.contextual_count)
    assert found["all"].all()
    np.testing.assert_array_equal(found["fixed answer in the prompt"], ~found["fixed answer absent"])
    np.testing.assert_array_equal(found["contextual answer once"], ~found["contextual answer repeated"])
    for row in range(len(trials)):
        values = trials.tokens[row, 1:-1:2].tolist()
        assert found["fixed answer in the prompt"][row] == (trials.fixed[row] in values)
        assert found["contextual answer repeated"][row] == (values.count(trials.contextual[row]) > 1)


def test_strata_of_what_results_keep_are_those_of_the_trials(trials):
    """Results keep 0 and 1 for false and true, in labelled arrays of any shape."""
    kept = xr.DataArray(np.stack([trials.fixed_present] * 2).astype(np.int8), dims=("seed", "trial"))
    counts = xr.DataArray(np.stack([trials.contextual_count] * 2), dims=("seed", "trial"))
    plain = strata(trials.fixed_present, trials.contextual_count)
    for name, mask in strata(kept, counts).items():
        assert mask.dims == ("seed", "trial")
        assert mask.dtype == bool
        for seed in range(2):
            np.testing.assert_array_equal(mask[seed], plain[name])
