"""Attenuation against a plain loop over TransformerLens, its algebra on planted numbers, and its nulls."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from transformer_lens.utilities import get_act_name

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.summary import records
from hyst_interp.errors import UserError
from hyst_interp.questions.attenuation import measure as attenuating
from hyst_interp.questions.attenuation import summary
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.questions.attenuation.summary import replacements
from hyst_interp.readout import chunks
from hyst_interp.statistics import over_trials, ratio_of_means

TEXT = "L0H1,L1MLP,heads,mlps,all"
REFERENCES = ("own-mean", "pooled-mean", "anchor-mean", "donor")
HOOKS = [get_act_name(kind, layer) for kind in ("z", "mlp_out", "attn_out") for layer in (0, 1)]


@pytest.fixture(scope="module")
def pair(small_pair):
    """Four trials and 40 inputs of the small pair."""
    return replace(small_pair, trials=small_pair.trials.take(slice(0, 4)), inputs=small_pair.inputs.take(slice(0, 40)))


@pytest.fixture(scope="module", params=["query", "all"])
def case(request, pair):
    """What the code finds at the query and at all positions: (positions, Dataset)."""
    return request.param, attenuation(pair, {name: pair.sets(TEXT) for name in REFERENCES}, request.param)


def cached(model, prompt) -> dict[str, torch.Tensor]:
    """Activations of one prompt, [pos, …]."""
    with torch.no_grad():
        _, cache = model.run_with_cache(torch.from_numpy(prompt)[None], names_filter=HOOKS)
    return {name: cache[name][0] for name in HOOKS}


def writes(model, acts: dict[str, torch.Tensor], component) -> torch.Tensor:
    """What a component adds to the residual stream, [pos, d_model]."""
    if component.is_head:
        w_o = model.blocks[component.layer].attn.W_O[component.head].detach()
        return acts[get_act_name("z", component.layer)][:, component.head] @ w_o
    return acts[get_act_name("mlp_out", component.layer)]


def looped_means(model, inputs, every) -> dict:
    """Means of what components write, one prompt at a time."""
    total = dict.fromkeys(every, 0)
    for prompt in inputs.tokens:
        acts = cached(model, prompt)
        total = {c: value + writes(model, acts, c) for c, value in total.items()}
    return {c: value / len(inputs) for c, value in total.items()}


def measured(model, trials, i, members, given, where) -> tuple[float, float]:
    """Margin and answer mass of one trial; `given` is what each component is to write. Plain TransformerLens hooks."""
    hooks = []
    for layer in (0, 1):
        own: dict[str, torch.Tensor] = {}

        def read(act, hook, own=own):
            own["z"] = act.clone()

        def write(act, hook, own=own, layer=layer):
            for c in members:
                if c.is_head and c.layer == layer:
                    minus = own["z"][0, :, c.head] @ model.blocks[layer].attn.W_O[c.head]
                    act[0, where] += (given[c] - minus)[where]
            return act

        def put(act, hook, layer=layer):
            for c in members:
                if not c.is_head and c.layer == layer:
                    act[0, where] = given[c][where]
            return act

        hooks += [(get_act_name("z", layer), read), (get_act_name("attn_out", layer), write)]
        hooks.append((get_act_name("mlp_out", layer), put))
    with torch.no_grad():
        logits = model.run_with_hooks(torch.from_numpy(trials.tokens[i])[None], fwd_hooks=hooks)[0, -1].double()
    c, f = trials.contextual[i], trials.fixed[i]
    p = logits.softmax(0)
    return float(logits[c] - logits[f]), float(p[c] + p[f])


def test_margins_and_answer_mass_equal_a_plain_loop(pair, case):
    positions, found = case
    where = slice(6, 7) if positions == "query" else slice(None)
    models = {"below": pair.below, "above": pair.above}
    every = sorted({c for one in pair.sets("all") for c in one.members})
    own = {name: looped_means(model, pair.inputs, every) for name, model in models.items()}
    anchor = looped_means(pair.anchor, pair.inputs, every)
    pooled = {c: (own["below"][c] + own["above"][c]) / 2 for c in every}
    sets = {one.name: sorted(one.members) for one in pair.sets(TEXT)}
    for branch, other in (("below", "above"), ("above", "below")):
        one = found.sel(branch=branch)
        for i in range(len(pair.trials)):
            acts = cached(models[other], pair.trials.tokens[i])
            donor = {c: writes(models[other], acts, c) for c in every}
            tables = {"own-mean": own[branch], "pooled-mean": pooled, "anchor-mean": anchor, "donor": donor}
            plain, _ = measured(models[branch], pair.trials, i, [], {}, where)
            assert float(one["margin"][i]) == pytest.approx(plain, abs=1e-5)
            for row in range(one.sizes["row"]):
                name, reference = str(one["components"].values[row]), str(one["reference"].values[row])
                given = tables[reference]
                margin, mass = measured(models[branch], pair.trials, i, sets[name], given, where)
                assert float(one["margin_after"][row, i]) == pytest.approx(margin, abs=3e-5), (name, reference)
                assert float(one["answer_mass"][row, i]) == pytest.approx(mass, abs=1e-5), (name, reference)


def test_rows_are_every_set_of_every_reference_and_differ_from_each_other(case):
    _, found = case
    names = [(str(r), str(c)) for r, c in zip(found["reference"].values, found["components"].values, strict=True)]
    assert names == [(reference, name) for reference in REFERENCES for name in TEXT.split(",")]
    after = found["margin_after"].values.reshape(len(names), -1)
    for i in range(len(names)):
        for j in range(i):
            assert np.abs(after[i] - after[j]).max() > 1e-4, (names[i], names[j])


def test_identical_networks_move_exactly_nothing_and_attenuate_nothing(pair):
    same = replace(pair, above=pair.below)
    found = attenuation(same, {name: same.sets(TEXT) for name in REFERENCES})
    moved = logits_moved(found)
    assert (moved["gap"].values == 0).all()
    assert (moved["moved"].values == 0).all()
    assert (moved["gap_after"].values == 0).all()
    donor = found["reference"].values == "donor"
    unchanged = (found["margin_after"] == found["margin"]).transpose("row", ...).values
    assert unchanged[donor].all()
    assert not unchanged[~donor].all()
    for row in records(replacements(found)):
        assert row["attenuation"].estimate is None
        assert row["attenuation"].reason
        assert (row["logits_moved"].estimate, row["logits_moved"].low, row["logits_moved"].high) == (0.0, 0.0, 0.0)


def test_strength_zero_moves_exactly_nothing(pair):
    plan = {name: pair.sets(TEXT) for name in REFERENCES}
    moved = logits_moved(attenuation(pair, plan, strength=0.0))
    assert (moved["moved"].values == 0).all()
    assert (moved["gap"].values != 0).any()


def test_chunks_of_unequal_size_change_nothing(pair, monkeypatch):
    plan = {name: pair.sets("heads,all") for name in REFERENCES}
    whole = attenuation(pair, plan)
    monkeypatch.setattr(attenuating, "chunks", lambda n: chunks(n, 3))
    parts = attenuation(pair, plan)
    for name in ("margin_after", "answer_mass", "margin"):
        np.testing.assert_allclose(parts[name].values, whole[name].values, rtol=0, atol=1e-5)


def test_exchanging_the_histories_exchanges_the_directions(pair):
    plan = {name: pair.sets("heads,all") for name in REFERENCES}
    there = logits_moved(attenuation(pair, plan))
    back = logits_moved(attenuation(replace(pair, below=pair.above, above=pair.below), plan))
    np.testing.assert_allclose(back["moved"].values, -there["moved"].values, rtol=0, atol=1e-5)
    into_below, into_above = back["into_below"].transpose("row", "trial"), there["into_above"].transpose("row", "trial")
    np.testing.assert_allclose(into_below.values, -into_above.values, rtol=0, atol=1e-5)
    assert np.abs(into_below.values - back["into_above"].transpose("row", "trial").values)[-1].max() > 1e-3


def test_anchor_means_without_an_anchor_are_refused_with_the_remedy(pair):
    with pytest.raises(UserError, match="--anchor"):
        attenuation(replace(pair, anchor=None), {"anchor-mean": pair.sets("heads")})
    attenuation(replace(pair, anchor=None), {"own-mean": pair.sets("L0H0")})


def planted(trials: int = 5) -> xr.Dataset:
    """Margins by hand: two rows, one of means, one of donors."""
    random = np.random.default_rng(1)
    before = random.normal(size=(2, trials)) + np.array([[3.0], [1.0]])
    return xr.Dataset(
        {
            "margin": (("branch", "trial"), before),
            "margin_after": (("row", "branch", "trial"), random.normal(size=(2, 2, trials))),
            "answer_mass": (("row", "branch", "trial"), random.random((2, 2, trials))),
        },
        coords={
            "branch": ["below", "above"],
            "components": ("row", ["heads", "heads"]),
            "reference": ("row", ["own-mean", "donor"]),
        },
    )


def test_logits_moved_on_planted_numbers():
    found = planted(1)
    found["margin"].values[:] = [[3.0], [1.0]]
    found["margin_after"].values[:] = [[[2.5], [2.0]], [[2.4], [1.2]]]
    moved = logits_moved(found)
    assert moved["gap"].values.tolist() == [2.0]
    assert moved["moved"].transpose("row", ...).values[:, 0] == pytest.approx([1.5, 0.4])
    assert moved["gap_after"].transpose("row", ...).values[:, 0] == pytest.approx([0.5, 1.6])
    into_below, into_above = (moved[name].transpose("row", ...).values[:, 0] for name in ("into_below", "into_above"))
    assert np.isnan([into_below[0], into_above[0]]).all()
    assert (into_below[1], into_above[1]) == (pytest.approx(0.6), pytest.approx(0.2))


def test_a_donor_that_exchanges_the_networks_moves_the_whole_gap():
    found = planted()
    found["margin_after"].values[1] = found["margin"].values[::-1]
    moved = logits_moved(found).isel(row=1)
    np.testing.assert_allclose(moved["moved"].values, moved["gap"].values)
    np.testing.assert_allclose(moved["gap_after"].values, 0, atol=1e-12)
    np.testing.assert_allclose(moved["into_below"].values, moved["into_above"].values)


def test_other_dimensions_are_kept():
    joint = xr.concat([planted(), planted() * 2], dim="seed").assign_coords(seed=[3, 8])
    found = logits_moved(joint)
    alone = logits_moved(planted())
    for name in ("gap", "moved", "gap_after"):
        for seed, factor in ((3, 1), (8, 2)):
            one = found[name].sel(seed=seed).transpose(*alone[name].dims)
            np.testing.assert_allclose(one.values, factor * alone[name].values)


def test_replacements_of_a_pair_are_those_of_the_trials():
    found = planted(40)
    before, after, mass = (found[name].values for name in ("margin", "margin_after", "answer_mass"))
    gap = before[0] - before[1]
    mean, donor = records(replacements(found))
    moved = gap - (after[0, 0] - after[0, 1])
    into_below, into_above = before[0] - after[1, 0], after[1, 1] - before[1]
    assert mean["logits_moved"] == over_trials(moved, "logits")
    assert mean["gap_after"].estimate == pytest.approx((after[0, 0] - after[0, 1]).mean())
    assert mean["attenuation"] == ratio_of_means(moved, gap, unit="share of the gap", over="trials")
    assert mean["attenuation"].estimate == pytest.approx(moved.mean() / gap.mean())
    assert mean["answer_mass"].estimate == pytest.approx(mass[0].mean())
    assert mean["margin_after_above"].estimate == pytest.approx(after[0, 1].mean())
    assert "interaction" not in mean
    assert donor["into_below"].estimate == pytest.approx(into_below.mean())
    assert donor["into_above"].estimate == pytest.approx(into_above.mean())
    assert donor["logits_moved"].estimate == pytest.approx((into_below + into_above).mean() / 2)
    assert donor["interaction"].estimate == pytest.approx((into_below - into_above).mean() / 2)
    assert donor["attenuation"].reason is None


def test_attenuation_is_not_clipped():
    found = planted(40)
    found["margin_after"].values[0, 0] = found["margin"].values[1]
    found["margin_after"].values[0, 1] = found["margin"].values[0]
    assert records(replacements(found))[0]["attenuation"].estimate == pytest.approx(2.0)


def test_many_trials_are_summarised_row_by_row_to_the_same_table(monkeypatch):
    found = planted(40)
    whole = replacements(found)
    widened = []

    def watched(block):
        widened.append(block["margin_after"].size)
        return logits_moved(block)

    monkeypatch.setattr(summary, "logits_moved", watched)
    monkeypatch.setattr(summary, "WIDENED", 1)
    xr.testing.assert_identical(replacements(found), whole)
    assert widened == [80, 80], "one row of two branches and 40 trials at a time"


def test_seeds_are_the_replicates_where_there_are_any():
    seeds = [planted(30), planted(30) * 2, planted(30) * 0.5]
    run = xr.concat(seeds, dim="seed").assign_coords(seed=[3, 8, 9]).expand_dims("order")
    rows = records(replacements(run))
    alone = [records(replacements(one)) for one in seeds]
    for index, row in enumerate(rows):
        assert (row["components"], row["reference"]) == ("heads", ("own-mean", "donor")[index])
        values = [one[index]["logits_moved"].estimate for one in alone]
        assert row["logits_moved"].n == 3
        assert row["logits_moved"].estimate == pytest.approx(np.mean(values))
        assert ("interaction" in row) == (index == 1)
