"""The gap: its direction, its exact split, its null, and its tables against plain loops."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.analysis.summary import records
from hyst_interp.config import ModelConfig
from hyst_interp.errors import UserError
from hyst_interp.model.build import empty_model
from hyst_interp.questions.gap.measure import behaviour, by_key, gap, pair_behaviour, trial_coords
from hyst_interp.questions.gap.pair_gap import gap as gap_estimate
from hyst_interp.questions.gap.strata import by_stratum
from hyst_interp.statistics import over_trials
from hyst_interp.tasks.registry import task_of


@pytest.fixture(scope="module")
def behaviours(small_pair) -> xr.Dataset:
    """Behaviour of the small pair."""
    return pair_behaviour(small_pair)


def looped_margins(model, trials) -> np.ndarray:
    """Margins, one prompt at a time."""
    found = []
    for tokens, c, f in zip(trials.tokens, trials.contextual, trials.fixed, strict=True):
        with torch.no_grad():
            logits = model(torch.from_numpy(tokens)[None])[0, -1].double()
        found.append(float(logits[c] - logits[f]))
    return np.array(found)


def test_gap_is_below_minus_above_on_the_same_trials(small_pair, behaviours):
    below, above = (looped_margins(model, small_pair.trials) for model in (small_pair.below, small_pair.above))
    assert behaviours["branch"].values.tolist() == ["below", "above"]
    np.testing.assert_allclose(gap(behaviours).values, below - above, rtol=0, atol=1e-5)
    assert gap_estimate(small_pair).estimate == pytest.approx((below - above).mean(), abs=1e-6)
    assert abs((below - above).mean()) > 1e-3


def test_exchanging_the_branches_turns_the_gap_around_exactly(small_pair, behaviours):
    turned = replace(small_pair, below=small_pair.above, above=small_pair.below)
    assert (gap(pair_behaviour(turned)).values == -gap(behaviours).values).all()
    assert gap_estimate(turned).estimate == pytest.approx(-gap_estimate(small_pair).estimate)


def test_gap_splits_into_what_both_answers_contribute(behaviours):
    parts = gap(behaviours, "contextual_part") + gap(behaviours, "fixed_part")
    np.testing.assert_allclose(parts.values, gap(behaviours).values, rtol=0, atol=1e-4)
    for name in ("contextual_part", "fixed_part"):
        assert np.abs(gap(behaviours, name).values).max() > 1e-2
    assert gap(behaviours, "fixed_part").name == "gap_fixed_part"


def test_identical_networks_have_a_gap_of_exactly_zero(small_pair):
    same = replace(small_pair, above=small_pair.below)
    assert (gap(pair_behaviour(same)).values == 0).all()
    found = gap_estimate(same)
    assert (found.estimate, found.low, found.high) == (0.0, 0.0, 0.0)


def test_an_interval_over_trials_says_that_it_speaks_of_two_networks(small_pair):
    found = gap_estimate(small_pair)
    assert "these two networks only" in found.method
    assert (found.n, found.unit) == (192, "logits")
    assert found.low < found.estimate < found.high


def test_behaviour_keeps_what_tables_need_of_every_trial(small_pair, behaviours):
    for name, (dim, values) in trial_coords(small_pair.trials).items():
        assert dim == "trial"
        assert (behaviours[name].values == values).all()
    assert behaviours["margin"].attrs["units"] == "logits"
    alone = behaviour(small_pair.above, small_pair.trials)["p_contextual"]
    assert (behaviours["p_contextual"].sel(branch="above").values == alone).all()


def test_by_stratum_equals_a_plain_loop_over_prompts(small_pair, behaviours):
    values, trials = gap(behaviours).values, small_pair.trials
    groups = {}
    for i, (tokens, c, f) in enumerate(zip(trials.tokens, trials.contextual, trials.fixed, strict=True)):
        prompt = list(tokens[1:-1:2])
        names = ["all", "fixed answer in the prompt" if f in prompt else "fixed answer absent"]
        names.append("contextual answer once" if prompt.count(c) == 1 else "contextual answer repeated")
        for name in names:
            groups.setdefault(name, []).append(values[i])
    found = {row["stratum"]: row["estimate"] for row in records(by_stratum(behaviours))}
    assert set(found) == set(groups)
    assert len({e.n for e in found.values()}) > 3
    for name, group in groups.items():
        assert found[name] == over_trials(np.array(group), "logits")


def test_a_stratum_of_fewer_than_two_trials_is_left_out(small_pair, behaviours):
    absent = np.flatnonzero(~small_pair.trials.fixed_present)[:4]
    found = {row["stratum"]: row["estimate"] for row in records(by_stratum(behaviours.isel(trial=absent)))}
    assert "fixed answer in the prompt" not in found
    assert found["all"].n == found["fixed answer absent"].n == 4


def test_by_key_equals_a_plain_loop_and_keeps_other_dimensions(small_pair, behaviours):
    later = behaviours.assign(margin=behaviours["margin"] * 3)
    both = xr.concat([behaviours, later], dim="hold", coords="minimal", compat="override")
    found = by_key(both)
    values = gap(behaviours).values
    assert set(found.dims) == {"hold", "key"}
    assert found["key"].values.tolist() == sorted(set(small_pair.trials.query.tolist()))
    for key in found["key"].values:
        group = [values[i] for i in range(len(values)) if small_pair.trials.tokens[i, -1] == key]
        for hold, factor in ((0, 1), (1, 3)):
            assert float(found.isel(hold=hold).sel(key=key)) == pytest.approx(factor * np.mean(group), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("L5H0", "L5H0"),
        ("L0H2", "L0H2"),
        ("L2MLP", "L2MLP"),
        ("", "''"),
        ("heads,", "''"),
        ("L0H0+", "''"),
        ("H1", "H1"),
    ],
)
def test_sets_that_the_model_lacks_are_refused_in_one_sentence(small_pair, text, word):
    with pytest.raises(UserError, match=word) as caught:
        small_pair.sets(text)
    assert str(caught.value).endswith(".")


def test_mlps_of_a_model_without_mlp_are_refused(small_pair):
    bare = empty_model(ModelConfig(d_model=32, n_heads=2, d_mlp=0), 13, 7)
    pair = PairData(bare, bare, small_pair.trials, small_pair.inputs, small_pair.task)
    with pytest.raises(UserError, match="no MLP"):
        pair.sets("mlps")
    assert len(pair.sets("all")[0].members) == 4


def test_sets_of_the_model_are_what_they_are_called(small_pair):
    found = {one.name: {str(c) for c in one.members} for one in small_pair.sets("each,heads,mlps,all,L0H1+L1MLP")}
    heads, mlps = {"L0H0", "L0H1", "L1H0", "L1H1"}, {"L0MLP", "L1MLP"}
    assert found == {name: {name} for name in heads | mlps} | {
        "heads": heads,
        "mlps": mlps,
        "all": heads | mlps,
        "L0H1+L1MLP": {"L0H1", "L1MLP"},
    }


def test_inputs_for_means_are_disjoint_from_the_trials_that_are_measured(small_setup):
    trials, inputs = evaluation_trials(task_of(small_setup), 200), mean_inputs(task_of(small_setup), 200)
    assert trials.conflict.all()
    assert not inputs.conflict.all()
    assert (evaluation_trials(task_of(small_setup), 50).tokens == trials.tokens[:50]).all()
    assert set(trials.uniform.tolist()).isdisjoint(inputs.uniform.tolist())
    assert (evaluation_trials(task_of(small_setup), 50, seed=7).tokens != trials.tokens[:50]).any()
