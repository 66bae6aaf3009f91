"""Mean or information: exact in a linear network, 0 for one network twice, a planted bias is mean, loops agree."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from edge_models import linear, noisy, what_sources_write

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.analysis.summary import records
from hyst_interp.errors import UserError
from hyst_interp.interventions import cached_sweep as cached
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.references import query_only
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.questions.information.measure import MEANS, PARTS, information
from hyst_interp.questions.information.off_distribution import divergence, off_distribution
from hyst_interp.questions.information.summary import (
    DIVERGENCE,
    ESTIMATORS,
    QUANTITIES,
    by_estimator,
    by_replacement,
    estimator_rows,
    information_parts,
)
from hyst_interp.readout import chunks
from hyst_interp.sites import Site, component
from hyst_interp.statistics import over_trials, student_t
from hyst_interp.tasks.registry import task_of

TEXT = "L0H1,L1H0,L0MLP,L1MLP,heads,mlps,all"


@pytest.fixture(scope="module")
def pair(small_pair):
    """40 trials and 64 inputs of the small pair."""
    return replace(small_pair, trials=small_pair.trials.take(slice(0, 40)), inputs=small_pair.inputs.take(slice(0, 64)))


@pytest.fixture(scope="module")
def found(pair):
    return information(pair, TEXT)


def paired(setup, below, above, anchor=None, n: int = 24) -> PairData:
    task = task_of(setup)
    return PairData(below, above, evaluation_trials(task, n), mean_inputs(task, 48), task, anchor)


def change(model, *names: str, by: float = 0.3):
    """A copy with noise on some parameters, as `1.W_O.0` (one head) or `0.b_out`."""
    other, random = deepcopy(model), torch.Generator().manual_seed(17)
    with torch.no_grad():
        for name in names:
            layer, kind, *head = name.split(".")
            block = other.blocks[int(layer)]
            parameter = getattr(block.mlp if kind.endswith("out") else block.attn, kind)
            part = parameter[int(head[0])] if head else parameter
            part += by * torch.randn(part.shape, generator=random)
    return other


def test_the_identity_is_exact_where_everything_after_a_component_is_linear(small_setup):
    other = change(linear(), "0.W_O.0", "0.W_out", "0.b_out", "1.W_O.1", "1.W_V.0", "1.W_out", by=0.02)
    values = information_parts(information(paired(small_setup, linear(), other, n=16), "L0H0,L1MLP,heads,mlps,all"))
    parts = values.sel(estimator="parts moved")
    size = float(np.abs(values["moved"].sel(replacement=list(PARTS))).max())
    assert size > 0.1
    assert float(np.abs(parts["remainder"]).max()) < 1e-4 * max(size, 1)
    for part in ("mean", "information"):
        assert float(np.abs(parts[part]).max()) > 0.01


def test_all_estimators_agree_where_what_follows_is_linear_and_alike(small_setup):
    base = linear()
    other = change(base, "1.W_O.0", "1.W_O.1", "1.W_V.1", "1.b_out", by=0.05)
    found = information(paired(small_setup, base, other, anchor=base), "L1H0,L1H1,heads,L1MLP")
    values = information_parts(found)
    assert list(values["estimator"].values) == list(ESTIMATORS)
    reference = values.sel(estimator="parts moved")
    for name in values["estimator"].values:
        one = values.sel(estimator=name)
        for quantity in ("mean", "information"):
            np.testing.assert_allclose(one[quantity], reference[quantity], rtol=0, atol=1e-4)
        assert float(np.abs(one["remainder"]).max()) < 1e-4
    moved = values["moved"]
    whole = moved.sel(replacement="whole")
    expected = {
        "own-mean": reference["information"],
        "pooled-mean": whole,
        "anchor-mean": whole,
        "other-mean": whole + reference["mean"],
    }
    for name, value in expected.items():
        np.testing.assert_allclose(moved.sel(replacement=name), value, rtol=0, atol=1e-4)
    assert float(np.abs(reference["information"]).max()) > 0.01
    assert float(np.abs(reference["mean"]).max()) > 0.01


def test_curvature_leaves_a_remainder(found):
    assert float(np.abs(information_parts(found)["remainder"].sel(estimator="parts moved")).max()) > 1e-4


def test_one_network_twice_moves_exactly_nothing(pair):
    twice = replace(pair, above=pair.below, anchor=pair.below)
    found = information(twice, TEXT)
    values = information_parts(found)
    parts = found.sel(replacement=list(PARTS))
    assert (values["gap"] == 0).all()
    assert (values["moved"].sel(replacement=list(PARTS)) == 0).all()
    assert (values.sel(estimator="parts moved")["remainder"] == 0).all()
    assert (values["moved"] == 0).all()
    assert (parts["divergence"] == 0).all()
    assert (parts["stream_change"] == 0).all()
    assert (found["divergence_between"] == 0).all()
    assert (found.sel(replacement="own-mean")["divergence"] > 0).any()
    assert {row["verdict"] for row in estimator_rows(by_estimator(found))} == {"not trusted"}


def test_whole_and_means_are_the_rows_of_the_attenuation(pair, found):
    plan = {name: pair.sets(TEXT) for name in ("donor", "own-mean", "pooled-mean", "anchor-mean")}
    rows = attenuation(pair, plan)
    names = {"whole": "donor"} | {name: name for name in plan if name != "donor"}
    for replacement, reference in names.items():
        here = rows.isel(row=np.flatnonzero(rows["reference"].values == reference))
        one = found.sel(replacement=replacement)
        assert list(here["components"].values) == list(one["components"].values)
        np.testing.assert_allclose(one["margin_after"], here["margin_after"], rtol=0, atol=1e-5)
        np.testing.assert_allclose(one["answer_mass_after"], here["answer_mass"], rtol=0, atol=1e-6)
    values = information_parts(found)
    moved = logits_moved(rows)["moved"]
    for replacement, reference in names.items():
        here = moved.isel(row=np.flatnonzero(rows["reference"].values == reference))
        np.testing.assert_allclose(values["moved"].sel(replacement=replacement), here, rtol=0, atol=1e-5)


def looped_mean(model, inputs, name: str) -> torch.Tensor:
    return torch.stack([what_sources_write(model, row[None])[name][0, -1] for row in inputs.tokens]).mean(0)


@pytest.mark.parametrize("name", ["L0H1", "L1H0", "L0MLP"])
def test_margins_mass_and_distances_equal_a_plain_loop_over_transformer_lens(pair, found, name):
    models = {"below": pair.below, "above": pair.above, "anchor": pair.anchor}
    means = {which: looped_mean(model, pair.inputs, name) for which, model in models.items()}
    c = component(name)
    for branch, other in (("below", "above"), ("above", "below")):
        model = models[branch]
        for trial in range(3):
            tokens = pair.trials.tokens[trial : trial + 1]
            own, donor = (what_sources_write(models[which], tokens)[name][0, -1] for which in (branch, other))
            given = {
                "whole": donor,
                "mean": own - means[branch] + means[other],
                "information": means[branch] + donor - means[other],
                "own-mean": means[branch],
                "other-mean": means[other],
                "pooled-mean": (means["below"] + means["above"]) / 2,
                "anchor-mean": means["anchor"],
            }
            kind = "attn_out" if c.is_head else "mlp_out"
            before, stream = looked(model, tokens)
            for replacement, value in given.items():

                def put(act, hook, difference=value - own):
                    act = act.clone()
                    act[:, -1] += difference
                    return act

                after, changed = looked(model, tokens, [(f"blocks.{c.layer}.hook_{kind}", put)])
                one = found.sel(replacement=replacement, components=name, branch=branch).isel(trial=trial)
                contextual, fixed = pair.trials.contextual[trial], pair.trials.fixed[trial]
                p, q = before.softmax(-1), after.softmax(-1)
                assert float(one["margin_after"]) == pytest.approx(float(after[contextual] - after[fixed]), abs=2e-5)
                assert float(one["answer_mass_after"]) == pytest.approx(float(q[contextual] + q[fixed]), abs=1e-5)
                kl = float((p * (p.log() - q.log())).sum())
                assert float(one["divergence"]) == pytest.approx(kl, abs=2e-6, rel=1e-3)
                relative = float((changed - stream).norm() / stream.norm())
                assert float(one["stream_change"]) == pytest.approx(relative, abs=1e-6, rel=1e-4)


def looked(model, tokens, hooks=()) -> tuple[torch.Tensor, torch.Tensor]:
    kept = []

    def keep(act, hook):
        kept.append(act[0, -1].double())

    name = f"blocks.{model.cfg.n_layers - 1}.hook_resid_post"
    with torch.no_grad():
        logits = model.run_with_hooks(torch.from_numpy(tokens), fwd_hooks=[*hooks, (name, keep)])
    return logits[0, -1].double(), kept[0]


def test_a_planted_bias_is_mean_wholly_and_nothing_else_moves(small_setup):
    base = noisy()
    other = change(base, "1.b_out", by=1.0)
    values = information_parts(information(paired(small_setup, base, other, base), "each"))
    moved = values["moved"].sel(replacement=list(PARTS)).mean("trial")
    there = moved.sel(components="L1MLP")
    gap = float(values["gap"].mean())
    assert abs(gap) > 0.05
    assert float(there.sel(replacement="mean")) == pytest.approx(gap, abs=1e-5)
    assert float(there.sel(replacement="whole")) == pytest.approx(gap, abs=1e-5)
    assert float(there.sel(replacement="information")) == pytest.approx(0, abs=1e-5)
    parts = values.sel(estimator="parts moved", components="L1MLP")
    assert float(np.abs(parts["remainder"]).max()) < 2e-5
    for name in moved["components"].values:
        if name != "L1MLP":
            assert (values["moved"].sel(components=name, replacement=list(PARTS)) == 0).all(), name


def test_planted_weights_that_read_the_input_are_information(small_setup):
    base = noisy()
    other = change(base, "1.W_O.1")
    values = information_parts(information(paired(small_setup, base, other), "L1H1,L0H0,L0MLP"))
    one = np.abs(values.sel(estimator="parts moved", components="L1H1"))
    assert float(one["information"].mean()) > 0.01
    rest = values["moved"].sel(replacement=list(PARTS), components=["L0H0", "L0MLP"])
    assert (rest == 0).all()


def test_kl_of_known_distributions_and_the_margin_that_the_bound_stands_for():
    before = torch.tensor([[0.0, 0.0], [0.0, 0.0]])
    shift = 0.9
    after = torch.tensor([[0.0, 0.0], [shift, 0.0]])
    found = divergence(before, after)
    assert found[0] == 0
    assert float(found[1]) == pytest.approx(np.log(np.cosh(shift / 2)))
    assert float(found[1]) == pytest.approx(DIVERGENCE, abs=0.003)


def some_cells(model, n_trials: int, where) -> list[list[Edit]]:
    random = torch.Generator().manual_seed(3)
    d, d_head = model.cfg.d_model, model.cfg.d_head
    donor = Reference(torch.randn(n_trials, 1, d, generator=random), True, "stream")
    mean = Reference(torch.randn(7, d_head, generator=random), False)
    flat = Reference(torch.randn(d, generator=random), False)
    head = Edit(Site("result", 0, 1), donor, 1.0, where)
    own = Edit(Site("result", 1, 0), mean, 0.5, where)
    mlp = Edit(Site("mlp_out", 0), flat, 1.0, where)
    return [[], [head], [own], [mlp], [head, own, mlp]]


@pytest.mark.parametrize("attention_only", [False, True])
def test_distances_continued_from_a_recorded_pass_equal_plain_runs(small_setup, monkeypatch, attention_only):
    model = noisy(**({"d_mlp": 0} if attention_only else {}))
    trials = evaluation_trials(task_of(small_setup), 9)
    cells = some_cells(model, 9, query_only(7))
    cells = cells[:3] if attention_only else cells
    fast = off_distribution(model, trials, cells)
    monkeypatch.setattr(cached, "covers_model", lambda model: False)
    plain = off_distribution(model, trials, cells)
    for name, values in fast.items():
        assert (values[0] == 0).all()
        assert (values[1:] > 1e-4).all()
        np.testing.assert_allclose(values, plain[name], rtol=1e-4, atol=1e-6)


def test_chunks_do_not_change_the_distances(small_setup, monkeypatch):
    model, trials = noisy(), evaluation_trials(task_of(small_setup), 9)
    cells = some_cells(model, 9, query_only(7))
    whole = off_distribution(model, trials, cells)
    monkeypatch.setattr(cached, "chunks", lambda n: chunks(n, 4))
    for name, values in off_distribution(model, trials, cells).items():
        np.testing.assert_allclose(values, whole[name], rtol=1e-4, atol=1e-6)


def test_the_query_is_the_only_position_replaced(small_setup):
    """Edits at every position are run plainly, and lead elsewhere than edits at the query."""
    model, trials = noisy(), evaluation_trials(task_of(small_setup), 5)
    reference = Reference(torch.ones(32), False)
    everywhere, query = (
        off_distribution(model, trials, [[Edit(Site("mlp_out", 0), reference, 1.0, where)]])["stream_change"]
        for where in (None, query_only(7))
    )
    assert (np.abs(everywhere - query) > 1e-4).all()


def planted(gap: float = 1.0, n: int = 50, **after) -> xr.Dataset:
    """Numbers by hand: whole 0.6, mean 0.2, information 0.4 of a gap, means likewise; `after` changes single ones."""
    noise = 1e-4 * np.random.default_rng(0).normal(size=n)
    moved = {"whole": 0.6, "mean": 0.2, "information": 0.4}
    moved |= {"own-mean": 0.4, "pooled-mean": 0.6, "anchor-mean": 0.6, "other-mean": 0.8}
    moved |= after.get("moved", {})
    skew, mass, far = (after.get(name, {}) for name in ("interaction", "mass", "far"))
    names = [*PARTS, *MEANS]
    shape = (len(names), 1, 2, n)
    margin = np.stack([gap + noise, noise * 0.5])
    margin_after, mass_after, divergence_after = np.empty(shape), np.full(shape, 0.95), np.full(shape, 0.02)
    for index, name in enumerate(names):
        half = moved[name] if name in PARTS else moved[name] / 2
        margin_after[index, 0, 0] = margin[0] - half - skew.get(name, 0)
        margin_after[index, 0, 1] = margin[1] + half - skew.get(name, 0)
        mass_after[index] = mass.get(name, 0.95)
        divergence_after[index] = far.get(name, 0.02)
    dims = ("replacement", "components", "branch", "trial")
    return xr.Dataset(
        {
            "margin": (("branch", "trial"), margin),
            "answer_mass": (("branch", "trial"), np.full((2, n), 0.98)),
            "divergence_between": (("branch", "trial"), np.full((2, n), 0.05) + noise**2),
            "margin_after": (dims, margin_after),
            "answer_mass_after": (dims, mass_after),
            "divergence": (dims, divergence_after),
            "stream_change": (dims, divergence_after),
        },
        {"replacement": names, "components": ["L0H0"], "branch": ["below", "above"]},
    )


def verdicts(found) -> dict[str, str]:
    return {str(row["estimator"]): str(row["reason"]) for row in estimator_rows(by_estimator(found))}


def test_planted_parts_are_found_by_every_estimator_and_all_are_trusted():
    rows = estimator_rows(by_estimator(planted()))
    assert [row["estimator"] for row in rows] == list(ESTIMATORS)
    for row in rows:
        assert (row["verdict"], row["reason"]) == ("trusted", "")
        expected = {"whole": 0.6, "mean": 0.2, "information": 0.4, "remainder": 0.0}
        for name in QUANTITIES:
            assert row[name].estimate == pytest.approx(expected[name], abs=1e-6)
        assert row["mean_share"].estimate == pytest.approx(0.2, abs=1e-3)


ALL = set(ESTIMATORS)


@pytest.mark.parametrize(
    ("case", "failing", "words"),
    [
        ({"mass": {"own-mean": 0.8}}, ALL - {"parts moved"}, "answer mass under 'own-mean'"),
        ({"mass": {"whole": 0.8}}, ALL, "answer mass under 'whole'"),
        ({"mass": {"own-mean": 0.9}}, set(), ""),
        ({"far": {"pooled-mean": 0.2}}, {"own and pooled"}, "not surely within 0.1 nats"),
        ({"far": {"anchor-mean": 0.2}}, {"own and anchor"}, "'anchor-mean' in from below"),
        ({"moved": {"whole": 0.75}}, ALL, "the remainder"),
        ({"moved": {"other-mean": 1.1}}, {"own and other"}, "the remainder"),
        ({"interaction": {"mean": 0.15}}, {"parts moved"}, "half the directions' difference of 'mean'"),
        ({"interaction": {"own-mean": 5.0}}, set(), ""),
        ({"gap": 0.0}, ALL, "the gap may be 0"),
    ],
)
def test_each_condition_of_the_rule_fails_whom_it_concerns_alone(case, failing, words):
    reasons = verdicts(planted(**case))
    assert {name for name, reason in reasons.items() if reason} == failing
    assert all(words in reasons[name] for name in failing)


def test_the_rule_does_not_look_at_the_size_of_the_parts():
    moved = {"whole": 0.6, "mean": 0.2, "information": 0.4, "own-mean": 0.4, "pooled-mean": 0.6}
    moved |= {"anchor-mean": 0.6, "other-mean": 0.8}
    for scale in (0.0, 0.01, 1.0, 30.0):
        assert set(verdicts(planted(moved={name: scale * value for name, value in moved.items()})).values()) == {""}


def test_rows_of_a_pair_name_their_trials_and_distances_are_means_over_histories(found):
    rows = estimator_rows(by_estimator(found))
    values = information_parts(found)
    one = next(row for row in rows if row["components"] == "L1H0" and row["estimator"] == "own and pooled")
    here = values.sel(components="L1H0", estimator="own and pooled")
    assert one["mean"] == over_trials(here["mean"].values, "logits")
    assert "two networks only" in one["information"].method
    far = records(by_replacement(found))
    assert len(far) == found.sizes["replacement"] * found.sizes["components"]
    row = next(row for row in far if (row["components"], row["replacement"]) == ("mlps", "own-mean"))
    expected = found["divergence"].sel(components="mlps", replacement="own-mean").astype("float64").mean("branch")
    assert row["divergence"].estimate == pytest.approx(float(expected.mean("trial")))
    assert row["divergence_ratio"].estimate == pytest.approx(
        float(expected.mean("trial") / found["divergence_between"].astype("float64").mean())
    )


def test_rows_over_seeds_take_the_seed_as_unit(found):
    many = xr.concat([xr.concat([found, found], "order") * scale for scale in (1.0, 1.1, 1.3)], "seed")
    many = many.assign_coords(seed=range(3), order=range(2))
    rows = estimator_rows(by_estimator(many))
    value = float(information_parts(found)["mean"].sel(estimator="parts moved", components="heads").mean())
    one = next(row for row in rows if row["components"] == "heads" and row["estimator"] == "parts moved")
    assert one["mean"].n == 3
    expected = student_t([value, 1.1 * value, 1.3 * value], "logits")
    assert one["mean"].estimate == pytest.approx(expected.estimate, rel=1e-4, abs=1e-7)
    assert records(by_replacement(many))[0]["divergence"].n == 3


def test_without_an_anchor_its_mean_is_left_out(pair):
    found = information(replace(pair, anchor=None), "L1H0")
    assert list(found["replacement"].values) == [*PARTS, *MEANS[:-1]]
    assert list(information_parts(found)["estimator"].values) == [name for name in ESTIMATORS if "anchor" not in name]


def test_networks_of_other_shapes_and_unknown_components_are_refused(pair, one_sentence):
    with pytest.raises(UserError) as error:
        information(replace(pair, above=noisy(d_mlp=24)))
    one_sentence(error.value, "d_mlp", "24")
    with pytest.raises(UserError) as error:
        information(pair, "L7H0")
    one_sentence(error.value, "L7H0")


def test_a_model_without_mlps_has_heads_alone(small_setup):
    model = noisy(d_mlp=0)
    found = information(paired(small_setup, model, change(model, "1.W_O.0")))
    assert [str(name) for name in found["components"].values] == ["L0H0", "L0H1", "L1H0", "L1H1", "heads"]
