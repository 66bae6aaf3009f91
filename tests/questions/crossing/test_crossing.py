"""Crossing histories: a plain loop agrees, one network twice moves 0, planted differences are found where they are."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from edge_models import noisy

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.analysis.summary import records
from hyst_interp.errors import UserError
from hyst_interp.interventions.sweep import sweep
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.questions.crossing import measure as crossing_module
from hyst_interp.questions.crossing.layer_swap import depth_of, depths, hybrid, layer_swap
from hyst_interp.questions.crossing.measure import (
    EVERYWHERE,
    KINDS,
    MAPS,
    cells_of,
    cross_model_patching,
)
from hyst_interp.questions.crossing.summary import crossed, crossing_table, layer_swap_table, moved_by_depth
from hyst_interp.statistics import over_trials, ratio_of_means, student_t
from hyst_interp.tasks.recall import ROLES
from hyst_interp.tasks.registry import task_of


@pytest.fixture(scope="module")
def pair(small_pair):
    """36 trials of the small pair."""
    return replace(small_pair, trials=small_pair.trials.take(slice(0, 36)), inputs=small_pair.inputs.take(slice(0, 8)))


@pytest.fixture(scope="module")
def maps(pair):
    return {kind: cross_model_patching(pair, kind) for kind in KINDS}


@pytest.fixture(scope="module")
def swapped(pair):
    return layer_swap(pair)


def planted(setup, *names: str, n: int = 20) -> PairData:
    """Two networks that differ in the named parameters alone: `1.W_O.0` (one head), `0.b_out`, `ln_final`, …"""
    base = noisy()
    other, random = deepcopy(base), torch.Generator().manual_seed(23)
    with torch.no_grad():
        for name in names:
            if name in ("embed", "unembed", "ln_final"):
                part = {"embed": other.embed.W_E, "unembed": other.unembed.W_U, "ln_final": other.ln_final.w}[name]
            else:
                layer, kind, *head = name.split(".")
                block = other.blocks[int(layer)]
                parameter = getattr(block.mlp if kind.endswith("out") else block.attn, kind)
                part = parameter[int(head[0])] if head else parameter
            part += 0.3 * torch.randn(part.shape, generator=random)
    task = task_of(setup)
    return PairData(base, other, evaluation_trials(task, n), mean_inputs(task, 8), task)


@pytest.mark.parametrize("kind", KINDS)
def test_one_network_twice_moves_exactly_nothing(pair, kind):
    values = crossed(cross_model_patching(replace(pair, above=pair.below), kind))
    for name in ("gap", "moved", *MAPS):
        assert (values[name] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_cell_equals_the_plain_sweep(pair, maps, monkeypatch, kind):
    monkeypatch.setattr(crossing_module, "cached_sweep", sweep)
    plain = cross_model_patching(pair, kind)
    for name in ("margin", "margin_after"):
        np.testing.assert_allclose(maps[kind][name], plain[name], rtol=0, atol=1e-5)
    assert float(np.abs(crossed(plain)["moved"]).max()) > 1e-3


def test_cells_equal_a_plain_loop_over_transformer_lens(pair, maps):
    """Margins with one place at one role written by hand into TransformerLens's own run."""
    trials, models = pair.trials, {"below": pair.below, "above": pair.above}
    for receiver, donor in (("below", "above"), ("above", "below")):
        for trial in range(3):
            tokens = torch.from_numpy(trials.tokens[trial : trial + 1])
            with torch.no_grad():
                own, other = (models[which].run_with_cache(tokens)[1] for which in (receiver, donor))
            for role in (*ROLES, EVERYWHERE):
                where = np.ones(7, bool) if role == EVERYWHERE else trials.role_positions(role)[trial]
                for kind, layer, head in (("resid_pre", 1, None), ("mlp_out", 0, None), ("result", 0, 1)):
                    if kind == "result":
                        name = f"blocks.{layer}.hook_attn_out"
                        before, after = (
                            cache[f"blocks.{layer}.attn.hook_z"][:, :, head]
                            @ models[which].blocks[layer].attn.W_O[head]
                            for cache, which in ((own, receiver), (other, donor))
                        )
                        difference = after - before
                    else:
                        name = f"blocks.{layer}.hook_{kind}"
                        difference = other[name] - own[name]

                    def put(act, hook, where=where, difference=difference):
                        act = act.clone()
                        act[:, where] += difference[:, where]
                        return act

                    with torch.no_grad():
                        logits = models[receiver].run_with_hooks(tokens, fwd_hooks=[(name, put)])[0, -1]
                    margin = float(logits[trials.contextual[trial]] - logits[trials.fixed[trial]])
                    cell = maps[kind]["margin_after"].sel(branch=receiver, layer=layer, role=role)
                    cell = cell if head is None else cell.sel(head=head)
                    assert float(cell[trial]) == pytest.approx(margin, abs=2e-5), (kind, role)


def test_the_query_of_heads_and_mlps_is_the_donor_of_the_attenuation(pair, maps):
    rows = attenuation(pair, {"donor": pair.sets("each")})
    moved = logits_moved(rows)
    heads, mlps = (crossed(maps[kind]).sel(role="query") for kind in ("result", "mlp_out"))
    for index, name in enumerate(rows["components"].values):
        name = str(name)
        layer = int(name[1])
        cell = mlps.sel(layer=layer) if name.endswith("MLP") else heads.sel(layer=layer, head=int(name[3:]))
        for mine, theirs in (("moved", "moved"), ("necessary", "into_below"), ("sufficient", "into_above")):
            np.testing.assert_allclose(cell[mine], moved[theirs].isel(row=index), rtol=0, atol=1e-5)


def test_in_the_last_layer_only_the_query_counts(maps):
    for kind, found in maps.items():
        values = crossed(found).isel(layer=-1)
        for role in ROLES[:-1]:
            assert (values["moved"].sel(role=role) == 0).all()
        xr.testing.assert_allclose(
            values["moved"].sel(role="query", drop=True),
            values["moved"].sel(role=EVERYWHERE, drop=True),
            rtol=0,
            atol=1e-5,
        )
        assert float(np.abs(values["moved"].sel(role="query")).max()) > 1e-4, kind


def test_sufficient_and_necessary_change_places_when_the_histories_do(pair, maps):
    turned = crossed(cross_model_patching(replace(pair, below=pair.above, above=pair.below), "resid_pre"))
    values = crossed(maps["resid_pre"])
    xr.testing.assert_allclose(turned["sufficient"], -values["necessary"], rtol=0, atol=1e-6)
    xr.testing.assert_allclose(turned["asymmetry"], values["asymmetry"], rtol=0, atol=1e-6)
    assert float(np.abs(turned["sufficient"] - values["sufficient"]).max()) > 1e-3
    np.testing.assert_array_equal(values["asymmetry"], values["necessary"] - values["sufficient"])
    assert float(np.abs(values["asymmetry"]).max()) > 1e-3


@pytest.mark.parametrize(
    ("name", "head", "layer"), [("1.W_O.0", 0, 1), ("0.W_O.1", 1, 0)], ids=["last layer", "first layer"]
)
def test_a_planted_head_is_found_and_nothing_upstream_or_beside_it_moves_anything(small_setup, name, head, layer):
    pair = planted(small_setup, name)
    heads, stream, mlps = (
        crossed(cross_model_patching(pair, kind))["moved"] for kind in ("result", "resid_pre", "mlp_out")
    )
    gap = crossed(cross_model_patching(pair, "resid_pre"))["gap"]
    for row in range(layer + 1):
        assert (stream.sel(layer=row) == 0).all()
    for row in range(layer):
        assert (heads.sel(layer=row) == 0).all()
        assert (mlps.sel(layer=row) == 0).all()
    assert (heads.sel(layer=layer, head=1 - head) == 0).all()
    whole = heads.sel(layer=layer, head=head, role=EVERYWHERE)
    np.testing.assert_allclose(whole, gap, rtol=0, atol=2e-5)  # the only difference, moved: the whole gap, each trial
    np.testing.assert_allclose(stream.sel(layer=2, role="query"), gap, rtol=0, atol=2e-5)
    assert float(np.abs(gap).mean()) > 0.05


def test_a_planted_bias_moves_the_whole_gap_from_its_mlp_on(small_setup):
    pair = planted(small_setup, "0.b_out")
    values = {kind: crossed(cross_model_patching(pair, kind)) for kind in KINDS}
    gap = values["mlp_out"]["gap"]
    np.testing.assert_allclose(values["mlp_out"]["moved"].sel(layer=0, role=EVERYWHERE), gap, rtol=0, atol=2e-5)
    np.testing.assert_allclose(values["resid_pre"]["moved"].sel(layer=1, role=EVERYWHERE), gap, rtol=0, atol=2e-5)
    assert (values["resid_pre"]["moved"].sel(layer=0) == 0).all()
    assert (values["result"]["moved"].sel(layer=0) == 0).all()
    assert float(np.abs(gap).mean()) > 0.05


def test_a_table_has_the_estimates_of_every_cell(maps):
    found = maps["result"]
    table, values = crossing_table(found), crossed(found)
    assert list(table["role"].values) == [*ROLES, EVERYWHERE]
    for name in (*MAPS, "moved"):
        for head, role in ((0, "query"), (1, EVERYWHERE)):
            expected = over_trials(values[name].sel(layer=0, head=head, role=role).values, "logits")
            cell = table.sel(effect=name, layer=0, head=head, role=role)
            assert (float(cell["estimate"]), float(cell["low"])) == pytest.approx((expected.estimate, expected.low))
            assert str(cell["method"].values) == expected.method
    assert table.attrs["gap"] == over_trials(values["gap"].values, "logits").text(2)


def test_a_table_of_many_seeds_takes_the_seed_as_unit(maps):
    found = maps["resid_pre"]
    many = xr.concat([xr.concat([found * scale, found * scale], "order") for scale in (1.0, 1.2, 1.7)], "seed")
    many = many.assign_coords(seed=range(3), order=range(2)).assign_attrs(found.attrs)
    table = crossing_table(many)
    value = float(crossed(found)["necessary"].sel(layer=1, role="query").mean())
    expected = student_t([value, 1.2 * value, 1.7 * value], "logits")
    cell = table.sel(effect="necessary", layer=1, role="query")
    assert float(cell["estimate"]) == pytest.approx(expected.estimate, rel=1e-4, abs=1e-7)
    assert int(cell["n"]) == 3


def test_sites_that_cannot_be_moved_are_refused(pair, one_sentence):
    with pytest.raises(UserError) as error:
        cross_model_patching(pair, "pattern")
    one_sentence(error.value, "pattern", "resid_pre")
    with pytest.raises(UserError) as error:
        cross_model_patching(replace(pair, above=noisy(n_layers=3)), "resid_pre")
    one_sentence(error.value, "n_layers", "3")
    bare = noisy(d_mlp=0)
    with pytest.raises(UserError) as error:
        cross_model_patching(replace(pair, below=bare, above=bare), "mlp_out")
    one_sentence(error.value, "mlp_out")
    assert cells_of(replace(pair, below=bare, above=bare), "result").shape == (2, 2, 6)


def test_both_ends_of_the_swap_are_exact(pair, swapped):
    assert (swapped["end_error"] == 0).all()
    for receiver, donor in (("below", "above"), ("above", "below")):
        after = swapped["margin_after"].sel(branch=receiver)
        own, other = (swapped["margin"].sel(branch=which).values for which in (receiver, donor))
        assert after.isel(rung=0).values.tobytes() == own.tobytes()
        assert after.isel(rung=-1).values.tobytes() == other.tobytes()
    assert (swapped["margin"].sel(branch="below") != swapped["margin"].sel(branch="above")).any()


def test_the_moved_prefix_gives_the_donors_logits_whole(pair):
    """Not only the margins: every logit at every position, by TransformerLens's own forward."""
    names = depths(2, True)
    weights = hybrid(pair.below, pair.above, names)
    tokens = torch.from_numpy(pair.trials.tokens)
    with torch.no_grad():
        found = torch.func.functional_call(pair.below, weights, (tokens,))
        assert torch.equal(found, pair.above(tokens))
        assert not torch.equal(found, pair.below(tokens))


def test_depths_between_layers_are_the_stream_moved_everywhere(maps, swapped):
    """The same question asked by patching and by exchanging weights; two ways to compute it, so up to rounding."""
    stream = crossed(maps["resid_pre"]).sel(role=EVERYWHERE)
    steps = moved_by_depth(swapped)
    for layer, depth in enumerate(("embeddings", "L0 MLP", "L1 MLP")):
        for mine, theirs in (("into_below", "necessary"), ("into_above", "sufficient"), ("moved", "moved")):
            np.testing.assert_allclose(steps[mine].sel(rung=depth), stream[theirs].sel(layer=layer), rtol=0, atol=1e-5)


def test_what_the_depths_add_is_the_gap(swapped):
    values = moved_by_depth(swapped)
    for name in ("added", "added_into_below", "added_into_above"):
        np.testing.assert_allclose(values[name].sum("rung"), values["gap"], rtol=0, atol=1e-12)
        assert (values[name].isel(rung=0) == 0).all()


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("embed", "embeddings"),
        ("0.W_O.1", "L0 attention"),
        ("0.b_out", "L0 MLP"),
        ("1.W_V.0", "L1 attention"),
        ("1.W_out", "L1 MLP"),
        ("ln_final", "final norm"),
        ("unembed", "unembedding"),
    ],
)
def test_a_planted_difference_enters_at_its_own_depth_alone(small_setup, name, depth):
    values = moved_by_depth(layer_swap(planted(small_setup, name, n=8)))
    for other in values["rung"].values:
        if other != depth:
            assert (values["added"].sel(rung=other) == 0).all(), other
    assert float(np.abs(values["added"].sel(rung=depth)).mean()) > 0.01


def test_every_parameter_has_a_depth(pair):
    for model, mlps in ((pair.below, True), (noisy(d_mlp=0), False)):
        assert {depth_of(name) for name, _ in model.named_parameters()} == set(depths(2, mlps)) - {"nothing"}
    with pytest.raises(ValueError, match="adapter"):
        depth_of("adapter.W")
    with pytest.raises(ValueError, match="other"):
        depth_of("blocks.0.other.W")


def test_the_networks_are_left_as_they_were(pair):
    before = {name: value.clone() for name, value in pair.below.named_parameters()}
    layer_swap(pair)
    assert all(torch.equal(value, before[name]) for name, value in pair.below.named_parameters())


def test_swapping_layers_of_one_network_twice_moves_exactly_nothing(pair):
    values = moved_by_depth(layer_swap(replace(pair, above=pair.below)))
    assert all((one == 0).all() for one in values.data_vars.values())


def test_the_table_along_the_depth(swapped):
    table, values = layer_swap_table(swapped), moved_by_depth(swapped)
    rows = records(table)
    assert [row["rung"] for row in rows] == list(depths(2, True))
    for index, row in enumerate(rows):
        expected = over_trials(values["added"].isel(rung=index).values, "logits")
        assert row["added"].method == expected.method
        assert (row["added"].estimate, row["added"].high) == pytest.approx((expected.estimate, expected.high))
        assert row["added_share"] == ratio_of_means(
            values["added"].isel(rung=index).values, values["gap"].values, "share of the gap", over="trials"
        )
    assert float(table["low"].sel(quantity="moved", rung="L0 MLP")) == rows[3]["moved"].low
    many = xr.concat([swapped.expand_dims("order") * scale for scale in (1.0, 2.0)], "seed")
    assert records(layer_swap_table(many.assign_coords(seed=[0, 1])))[-1]["moved"].n == 2
