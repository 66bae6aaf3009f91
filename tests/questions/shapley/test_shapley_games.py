"""The games on a pair of networks: hybrids by hooks, ends, nulls, both directions, memory, rows, and refusals."""

from copy import deepcopy
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
import xarray as xr

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.pair_data import PairData, evaluation_trials
from hyst_interp.analysis.summary import cell, records
from hyst_interp.config import ModelConfig
from hyst_interp.errors import UserError
from hyst_interp.model.build import initial_weights, model_from
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.questions.shapley.figure import shapley_dumbbells
from hyst_interp.questions.shapley.games import (
    EVERYTHING_ELSE,
    Remembered,
    all_coalitions,
    donor_game,
    own_mean_game,
    remembering,
    value_function,
    values,
)
from hyst_interp.questions.shapley.measure import gap_of, refuse_too_many, shapley
from hyst_interp.questions.shapley.summary import SUM, answer_mass, pair_rows, pairs, players
from hyst_interp.readout import CHUNK
from hyst_interp.sites import Component, ComponentSet, components
from hyst_interp.streams import Stream
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials

MEMBERS = components(2, 2)


@pytest.fixture(scope="module")
def donor(small_pair):
    return donor_game(small_pair)


@pytest.fixture(scope="module")
def own(small_pair):
    return own_mean_game(small_pair)


@pytest.fixture(scope="module")
def donor_account(donor):
    return shapley(donor)


@pytest.fixture(scope="module")
def own_account(own):
    return shapley(own)


def margin(logits: torch.Tensor, trials: Trials) -> np.ndarray:
    last, rows = logits[:, -1].double().numpy(), np.arange(len(trials))
    return last[rows, trials.contextual] - last[rows, trials.fixed]


def hybrid(pair: PairData, coalition) -> np.ndarray:
    """A hybrid's margins, by TransformerLens's own per-head results and hooks on whole forward passes."""
    tokens = torch.from_numpy(pair.trials.tokens)
    host, other = (pair.below, pair.above) if EVERYTHING_ELSE in coalition else (pair.above, pair.below)
    host, other = deepcopy(host), deepcopy(other)
    host.set_use_attn_result(True)
    other.set_use_attn_result(True)
    with torch.no_grad():
        _, cache = other.run_with_cache(tokens)

    def put(place: str, head: int):
        def hook(act, hook):
            act = act.clone()
            if head < 0:
                act[:, -1] = cache[place][:, -1]
            else:
                act[:, -1, head] = cache[place][:, -1, head]
            return act

        return place, hook

    hooks = []
    for one in MEMBERS:
        if (one in coalition) != (EVERYTHING_ELSE in coalition):
            kind = "attn.hook_result" if one.is_head else "hook_mlp_out"
            hooks.append(put(f"blocks.{one.layer}.{kind}", one.head))
    with torch.no_grad():
        return margin(host.run_with_hooks(tokens, fwd_hooks=hooks), pair.trials)


def test_hybrids_are_those_of_plain_hooks(small_pair, donor):
    random = np.random.default_rng(4)
    chosen = [frozenset(p for p in donor.players if random.random() < share) for share in np.linspace(0, 1, 14)]
    chosen += [frozenset([EVERYTHING_ELSE]), frozenset(MEMBERS)]
    found = values(donor, chosen)
    for row, coalition in zip(found, chosen, strict=True):
        np.testing.assert_allclose(row, hybrid(small_pair, coalition), atol=2e-5)
    assert np.ptp(found, axis=0).max() > 0.05


def test_the_ends_of_the_donor_game_are_the_two_histories(small_pair, donor_account):
    with torch.no_grad():
        tokens = torch.from_numpy(small_pair.trials.tokens)
        below, above = (margin(m(tokens), small_pair.trials) for m in (small_pair.below, small_pair.above))
    np.testing.assert_allclose(donor_account["value_all"], below, atol=1e-5)
    np.testing.assert_allclose(donor_account["value_none"], above, atol=1e-5)
    gap = (donor_account["value_all"] - donor_account["value_none"]).values
    np.testing.assert_array_equal(donor_account["gap"], gap)
    np.testing.assert_allclose(donor_account["shapley"].sum("player"), gap, atol=1e-12)
    assert np.abs(gap).max() > 0.05


def test_own_means_move_what_attenuation_moves(small_pair, own, own_account):
    sets = [ComponentSet(str(one), frozenset([one])) for one in MEMBERS]
    sets += [ComponentSet("all", frozenset(MEMBERS)), ComponentSet("heads", frozenset(MEMBERS[:4]))]
    moved = logits_moved(attenuation(small_pair, {"own-mean": sets}))["moved"].values
    np.testing.assert_allclose(values(own, [one.members for one in sets]), moved, atol=1e-5)
    np.testing.assert_allclose(own_account["first"], moved[: len(MEMBERS)], atol=1e-5)
    np.testing.assert_allclose(own_account["value_all"], moved[len(MEMBERS)], atol=1e-5)
    assert not own_account["value_none"].any()
    np.testing.assert_allclose(own_account["shapley"].sum("player"), own_account["value_all"], atol=1e-12)
    assert "everything else" not in own_account["player"]
    assert np.abs(own_account["gap"] - own_account["value_all"]).max() > 1e-3


def test_donors_into_one_history_are_first_and_last_effects(small_pair, donor_account):
    """What attenuation moves into above is what a component does alone; into below, what goes with it."""
    sets = [ComponentSet(str(one), frozenset([one])) for one in MEMBERS]
    found = logits_moved(attenuation(small_pair, {"donor": sets})).transpose("row", "trial")
    names = [one.name for one in sets]
    np.testing.assert_allclose(donor_account["first"].sel(player=names), found["into_above"], atol=1e-5)
    np.testing.assert_allclose(donor_account["last"].sel(player=names), found["into_below"], atol=1e-5)


@pytest.mark.parametrize("name", ["donor", "own"])
def test_one_by_one_equals_all_together(name, request):
    game = request.getfixturevalue(name)
    coalitions = all_coalitions(game.players)
    together, value = values(game, coalitions), value_function(game)
    for index in (0, 1, 6, 37, len(coalitions) - 1):
        alone = value(coalitions[index])
        assert alone.dims == ("trial",)
        np.testing.assert_allclose(alone, together[index], atol=1e-5)


def test_a_pair_of_twice_the_same_network_is_exactly_nothing(small_pair):
    twin = replace(small_pair, above=small_pair.below)
    for game in (donor_game(twin), own_mean_game(twin)):
        account = shapley(game)
        for name in ("shapley", "first", "last", "gap"):
            assert not account[name].any(), name
        assert not account["interaction"].fillna(0).any()


def test_exchanged_histories_have_the_same_account(small_pair, donor_account):
    turned = shapley(donor_game(replace(small_pair, below=small_pair.above, above=small_pair.below)))
    np.testing.assert_allclose(turned["shapley"], -donor_account["shapley"], atol=1e-5)
    np.testing.assert_allclose(turned["interaction"], donor_account["interaction"], atol=1e-5)
    np.testing.assert_allclose(turned["first"], -donor_account["last"], atol=1e-5)


def test_a_component_that_cannot_differ_is_a_dummy(small_pair):
    """One head writes nothing in either network."""
    models = [deepcopy(model) for model in (small_pair.below, small_pair.above)]
    with torch.no_grad():
        for model in models:
            model.blocks[1].attn.W_O[1].zero_()
    pair = replace(small_pair, below=models[0], above=models[1])
    for game in (donor_game(pair), own_mean_game(pair)):
        account = shapley(game)
        assert np.abs(account["shapley"].sel(player="L1H1")).max() < 1e-6
        assert np.abs(account["interaction"].sel(player_a="L1H1", player_b="L0MLP")).max() < 1e-5
        assert np.abs(account["shapley"].sel(player="L1MLP")).max() > 1e-3


def test_chunks_of_trials_change_nothing(small_setup, small_pair):
    members = [Component(1, 0), Component(0)]
    trials = evaluation_trials(task_of(small_setup), CHUNK + 3)
    whole = shapley(donor_game(replace(small_pair, trials=trials), members))
    last = shapley(donor_game(replace(small_pair, trials=trials.take(slice(CHUNK, CHUNK + 3))), members))
    np.testing.assert_allclose(whole["shapley"][:, CHUNK:], last["shapley"], atol=1e-5)
    np.testing.assert_allclose(whole["shapley"].sum("player"), whole["gap"], atol=1e-12)


def test_components_that_do_not_play_belong_to_everything_else(small_pair, donor_account):
    account = shapley(donor_game(small_pair, [Component(0), Component(1, 1)]))
    assert list(account["player"].values) == ["L0MLP", "L1H1", "everything else"]
    np.testing.assert_allclose(account["shapley"].sum("player"), donor_account["gap"], atol=1e-12)
    np.testing.assert_allclose(
        account["first"].sel(player="L0MLP"), donor_account["first"].sel(player="L0MLP"), atol=1e-5
    )


@pytest.mark.parametrize("change", [{"d_mlp": 0}, {"n_layers": 1}, {"normalization_type": "none"}])
def test_networks_of_another_build_play_too(small_setup, small_pair, change):
    config = ModelConfig(d_model=32, n_heads=2, d_mlp=48).model_copy(update=change)
    models = [model_from(config, 13, 7, initial_weights(config, 13, 7, Stream("initialisation", s))) for s in (1, 2)]
    pair = replace(small_pair, below=models[0], above=models[1], trials=small_pair.trials.take(slice(0, 9)))
    account = shapley(donor_game(pair))
    assert account.sizes["player"] == len(components(config.n_layers, 2, bool(config.d_mlp))) + 1
    np.testing.assert_allclose(account["shapley"].sum("player"), account["gap"], atol=1e-5)


def test_answer_mass_says_how_far_coalitions_are_from_answering(small_pair, donor_account, own_account):
    found = attenuation(small_pair, {"own-mean": [ComponentSet("all", frozenset(MEMBERS))]})
    mass = found["answer_mass"].astype("float64").mean("branch").values[0]
    np.testing.assert_allclose(own_account["answer_mass"].sel(size=len(MEMBERS)), mass, atol=1e-5)
    sizes = records(answer_mass(donor_account))
    assert [row["size"] for row in sizes] == list(range(len(MEMBERS) + 2))
    assert all(0 <= row["estimate"].estimate <= 1 and row["estimate"].unit == "probability" for row in sizes)


def test_nothing_is_asked_for_twice_and_memory_is_bounded(donor):
    asked = []

    def evaluate(coalitions):
        asked.append(list(coalitions))
        return np.array([[float(len(one))] for one in coalitions])

    one, two, three = (frozenset(MEMBERS[:size]) for size in (1, 2, 3))
    value = Remembered(evaluate, limit=16)
    np.testing.assert_array_equal(value.many([one, two, one])[:, 0], [1, 2, 1])
    assert asked == [[one, two]]
    assert value(two).values == [2.0]
    assert len(asked) == 1
    np.testing.assert_array_equal(value.many([three, two, one])[:, 0], [3, 2, 1])
    assert asked[1:] == [[three]]
    value(one)
    assert asked[2:] == [[one]]  # forgotten: only two values fit
    assert remembering(value) is value
    wrapped = remembering(lambda coalition: xr.DataArray([len(coalition), 7], dims="trial"))
    np.testing.assert_array_equal(wrapped(two), [2, 7])


def test_rows_of_one_pair_are_over_its_trials(donor_account):
    rows = records(players(donor_account))
    assert [row["player"] for row in rows] == [*map(str, MEMBERS), "everything else", SUM]
    for row in rows[:-1]:
        one = donor_account.sel(player=row["player"])
        assert row["shapley"].estimate == pytest.approx(float(one["shapley"].mean()))
        assert row["together"].estimate == pytest.approx(float((one["last"] - one["first"]).mean()))
        assert "two networks only" in row["shapley"].method
        assert row["shapley"].n == donor_account.sizes["trial"]
    total = rows[-1]
    assert total["shapley"].estimate == pytest.approx(total["gap"].estimate)
    assert total["shapley"].low == pytest.approx(total["gap"].low)
    assert abs(total["rest"].estimate) < 1e-12
    if total["share"].estimate is not None:
        assert total["share"].estimate == pytest.approx(1)


def test_rows_over_seeds_average_orders_first(donor_account):
    shift = xr.DataArray([[0.0, 0.2], [1.0, 1.4], [2.0, 2.8]], dims=("seed", "order"))
    found = donor_account + shift
    rows = records(players(found))
    base = float(donor_account["shapley"].sel(player="L0H0").mean())
    expected = base + np.array([0.1, 1.2, 2.4])
    assert rows[0]["shapley"].estimate == pytest.approx(expected.mean())
    assert rows[0]["shapley"].n == 3
    half = 4.302652729749464 * expected.std(ddof=1) / np.sqrt(3)  # t of 2 degrees of freedom
    assert rows[0]["shapley"].high == pytest.approx(expected.mean() + half)
    assert "trials" not in rows[0]["shapley"].method
    couples = pair_rows(pairs(found))
    assert len(couples) == 21
    assert all(row["interaction"].n == 3 for row in couples)


def test_a_share_of_no_gap_is_undefined(donor_account):
    trials = donor_account.sizes["trial"]
    flat = donor_account.assign(gap=("trial", np.resize([0.1, -0.1], trials)))
    table = players(flat)
    share = cell(table, player="L0H0", quantity="share")
    assert share.estimate is None
    assert "may be 0" in share.reason
    assert "undefined" in [note.text for note in shapley_dumbbells(table).layout.annotations]


def test_the_gap_and_the_rest_are_the_sums_alone(donor_account):
    rows = records(players(donor_account))
    assert [{"gap", "rest"} <= row.keys() for row in rows] == [False] * (len(rows) - 1) + [True]


def test_pairs_are_symmetric_in_the_table_and_stand_once_in_its_rows(donor_account):
    table = pairs(donor_account)
    names = [str(name) for name in donor_account["player"].values]
    for (a, b), row in zip(combinations(names, 2), pair_rows(table), strict=True):
        assert (row["player_a"], row["player_b"]) == (a, b)
        mean = float(donor_account["interaction"].sel(player_a=a, player_b=b).mean())
        for one, other in ((a, b), (b, a)):
            assert float(table["estimate"].sel(player_a=one, player_b=other)) == pytest.approx(mean)
    assert all(np.isnan(table["high"].sel(player_a=name, player_b=name)) for name in names)


def test_the_gap_is_that_of_the_two_networks(small_pair, donor, own):
    np.testing.assert_array_equal(gap_of(donor), gap_of(own))


def test_what_cannot_be_played_is_refused(small_pair, donor, own, one_sentence):
    with pytest.raises(UserError) as refusal:
        values(donor, [frozenset([Component(5, 0)])])
    one_sentence(refusal.value, "L5H0", "L0H0")
    with pytest.raises(UserError) as refusal:
        value_function(own)(frozenset([EVERYTHING_ELSE]))
    one_sentence(refusal.value, "everything else")
    for make in (donor_game, own_mean_game):
        with pytest.raises(UserError) as refusal:
            make(small_pair, [Component(0, 0), Component(3, 1)])
        one_sentence(refusal.value, "L3H1", "L1MLP")
        with pytest.raises(UserError) as refusal:
            make(small_pair, [])
        one_sentence(refusal.value, "no player")
    config = ModelConfig(d_model=32, n_heads=4, d_mlp=48)
    other = model_from(config, 13, 7, initial_weights(config, 13, 7, Stream("initialisation", 1)))
    with pytest.raises(UserError) as refusal:
        donor_game(replace(small_pair, above=other))
    one_sentence(refusal.value, "heads 2 from below", "4 from above")
    with pytest.raises(UserError) as refusal:
        refuse_too_many(components(4, 4))
    one_sentence(refusal.value, "20 players", "1048576", "permutations")
