"""Direct logit attribution adds up exactly, to the margin and to the gap, and each part is what it says."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.questions.attribution.measure import PARTS, direct_attribution, reading, split, term_names
from hyst_interp.questions.gap.measure import gap, pair_behaviour
from hyst_interp.questions.patching.attention import attention_patterns
from hyst_interp.tasks.recall import ROLES


@pytest.fixture(scope="module")
def found(small_pair: PairData):
    return direct_attribution(small_pair)


def test_terms_sum_to_each_margin(small_pair: PairData, found) -> None:
    margins = pair_behaviour(small_pair)["margin"]
    np.testing.assert_allclose(found["direct"].sum("term").values, margins.values, atol=2e-5)


def test_parts_sum_to_the_gap_and_to_the_difference_of_every_term(small_pair: PairData, found) -> None:
    wanted = gap(pair_behaviour(small_pair)).values
    np.testing.assert_allclose(found["split"].astype("float64").sum(("term", "part")).values, wanted, atol=5e-5)
    direct = found["direct"].astype("float64")
    difference = direct.sel(branch="below", drop=True) - direct.sel(branch="above", drop=True)
    np.testing.assert_allclose(found["split"].astype("float64").sum("part").values, difference.values, atol=2e-5)


def test_one_head_equals_a_plain_loop_over_the_cache(small_pair: PairData, found) -> None:
    model, trials = small_pair.above, small_pair.trials
    _, cache = model.run_with_cache(torch.from_numpy(trials.tokens))
    for trial in (0, 7, 191):
        written = cache["blocks.1.attn.hook_z"][trial, -1, 1] @ model.blocks[1].attn.W_O[1]
        direction = model.unembed.W_U[:, trials.contextual[trial]] - model.unembed.W_U[:, trials.fixed[trial]]
        scale = cache["ln_final.hook_scale"][trial, -1, 0]
        value = ((written - written.mean()) / scale * model.ln_final.w) @ direction
        ours = found["direct"].sel(branch="above", term="L1H1").values[trial]
        assert ours == pytest.approx(float(value), abs=1e-5)


def test_a_history_against_itself_is_exactly_nothing(small_pair: PairData) -> None:
    same = direct_attribution(replace(small_pair, above=small_pair.below))
    assert not same["split"].values.any()


def test_parts_are_pure_where_only_one_factor_differs(small_pair: PairData) -> None:
    one = reading(small_pair.below, small_pair.trials)
    doubled = {
        "activation": replace(one, terms=2 * one.terms),
        "readout": replace(one, readout=2 * one.readout),
        "scale": replace(one, inverse_scale=2 * one.inverse_scale),
    }
    for part, other in doubled.items():
        parts = split(other, one)[:, :-1]
        for index, name in enumerate(PARTS):
            if name == part:
                torch.testing.assert_close(parts[..., index], one.direct())
            else:
                assert not parts[..., index].any(), (part, name)


def test_terms_name_everything_that_writes(small_pair: PairData) -> None:
    names = term_names(small_pair.below)
    assert names == [*("embed", "pos", "L0H0", "L0H1", "L1H0", "L1H1", "L0 b_O", "L1 b_O", "L0MLP", "L1MLP", "bias")]


def test_attention_by_role_is_a_plain_loop_over_patterns_and_sums_to_one(small_pair: PairData) -> None:
    found = attention_patterns(small_pair)
    np.testing.assert_allclose(found["attention"].sum("role").values, 1.0, atol=1e-5)
    trials = small_pair.trials
    _, cache = small_pair.above.run_with_cache(torch.from_numpy(trials.tokens))
    pattern = cache["blocks.1.attn.hook_pattern"]
    for trial in (0, 100):
        for index, role in enumerate(ROLES):
            there = trials.roles[trial] == index
            value = float(pattern[trial, 1, -1][torch.from_numpy(there)].sum())
            ours = found["attention"].sel(branch="above", layer=1, head=1, role=role).values[trial]
            assert ours == pytest.approx(value, abs=1e-6)
    mean = found["pattern"].sel(branch="above", layer=1, head=0).values
    np.testing.assert_allclose(mean, pattern[:, 0].mean(0).numpy(), atol=1e-5)
    assert np.triu(mean, 1).max() == 0
