"""Groups of weights are a partition; moving none or all is exact; a plain loop over TransformerLens agrees."""

import numpy as np
import pytest
import torch
import xarray as xr

from hyst_interp.analysis.exchange import exchanged
from hyst_interp.analysis.rows import share_text
from hyst_interp.config import ModelConfig
from hyst_interp.errors import UserError
from hyst_interp.history.measured import measured_weights
from hyst_interp.model.build import initial_weights
from hyst_interp.questions.weights.measure import weight_patching
from hyst_interp.questions.weights.summary import LEVELS, SUMS, weight_rows, weight_table
from hyst_interp.questions.weights.weight_groups import FAMILIES, distance, families, groups, moved
from hyst_interp.statistics import Estimate, over_trials, student_t, undefined
from hyst_interp.streams import Stream
from hyst_interp.study.train_branch import margins_of as run_margins

CONFIGS = [
    ModelConfig(n_layers=2, n_heads=4, d_model=16, d_mlp=12),
    ModelConfig(n_layers=3, n_heads=2, d_model=8, d_mlp=0),
    ModelConfig(n_layers=1, n_heads=1, d_model=8, d_mlp=8, normalization_type="none"),
]


@pytest.fixture(scope="module")
def case(small_branches, small_pair):
    """(below, above, trials, what moving finds) of the small pair on 40 trials."""
    below, above = small_branches["below"], small_branches["above"]
    trials = small_pair.trials.take(slice(0, 40))
    return below, above, trials, weight_patching(below.setup, below.weights, above.weights, trials)


def same(one, two) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("config", CONFIGS, ids=["usual", "attention-only", "no-norm"])
@pytest.mark.parametrize("partition", [groups, families])
def test_every_weight_is_in_exactly_one_group(config, partition):
    weights = initial_weights(config, 9, 5, Stream("initialisation", 0))
    counts = {name: torch.zeros_like(value) for name, value in weights.items()}
    for group in partition(config):
        for part in group.parts:
            part.of(counts).add_(1)
    assert all((count == 1).all() for count in counts.values())
    names = [group.name for group in partition(config)]
    assert len(set(names)) == len(names)
    assert {group.family for group in partition(config)} <= set(FAMILIES)


def test_a_head_owns_what_it_attends_with_and_what_it_writes_with_and_no_layer_wide_bias():
    found = {group.name: {(part.parameter, part.head) for part in group.parts} for group in groups(CONFIGS[0])}
    attn = "blocks.0.attn"
    assert found["L0H1 QK"] == {(f"{attn}.{name}", 1) for name in ("W_Q", "W_K", "b_Q", "b_K")}
    assert found["L0H1 OV"] == {(f"{attn}.{name}", 1) for name in ("W_V", "b_V", "W_O")}
    assert found["L0 b_O"] == {(f"{attn}.b_O", None)}
    assert found["embeddings"] == {("embed.W_E", None), ("pos_embed.W_pos", None)}
    assert {"L0 ln1", "L0 ln2", "L1 ln1", "L1 ln2", "ln_final"} == {
        group.name for group in groups(CONFIGS[0]) if group.family == "LayerNorms"
    }


def test_no_group_moved_is_the_receiver_and_all_moved_the_other_model_bit_for_bit(case):
    below, above, _, _ = case
    config = below.setup.model
    for receiver, donor in ((below, above), (above, below)):
        assert same(moved(receiver.weights, donor.weights, []), receiver.weights)
        assert not same(receiver.weights, donor.weights)
        for partition in (groups, families):
            assert same(moved(receiver.weights, donor.weights, partition(config)), donor.weights)


def test_moving_writes_into_neither_side_and_leaves_the_rest_alone(case):
    below, above, _, _ = case
    before = below.weights_hash(), above.weights_hash()
    for group in groups(below.setup.model):
        found = moved(below.weights, above.weights, [group])
        inside = {name: torch.zeros_like(value, dtype=torch.bool) for name, value in found.items()}
        for part in group.parts:
            part.of(inside).fill_(True)
        for name, value in found.items():
            assert torch.equal(value, torch.where(inside[name], above.weights[name], below.weights[name]))
            value.zero_()
    assert (below.weights_hash(), above.weights_hash()) == before


def test_controls_are_exact_and_measured(case):
    below, above, trials, found = case
    for branch, state in (("below", below), ("above", above)):
        assert found["margin"].sel(branch=branch).values.tobytes() == run_margins(state, trials).tobytes()
    for receiver, donor in (("below", "above"), ("above", "below")):
        complete = found["margin_all"].sel(branch=receiver).values
        assert complete.tobytes() == found["margin"].sel(branch=donor).values.tobytes()
    assert (found["margin"].sel(branch="below") != found["margin"].sel(branch="above")).any()


@pytest.mark.parametrize("name", ["L0H1 QK", "L1H0 OV", "L1MLP in", "embeddings", "ln_final"])
def test_margins_equal_a_hooked_transformer_with_the_weights_written_by_hand(case, name):
    below, above, trials, found = case
    row = int(np.flatnonzero((found["name"].values == name) & (found["level"].values == "group"))[0])
    for receiver, donor in ((below, above), (above, below)):
        model, other = receiver.model(), donor.model()
        with torch.no_grad():
            if name in ("L0H1 QK", "L1H0 OV"):
                layer, head = int(name[1]), int(name[3])
                members = ("W_Q", "b_Q", "W_K", "b_K") if name.endswith("QK") else ("W_V", "b_V", "W_O")
                for member in members:
                    target = getattr(model.blocks[layer].attn, member)
                    target[head] = getattr(other.blocks[layer].attn, member)[head]
            elif name == "L1MLP in":
                model.blocks[1].mlp.W_in.copy_(other.blocks[1].mlp.W_in)
                model.blocks[1].mlp.b_in.copy_(other.blocks[1].mlp.b_in)
            elif name == "embeddings":
                model.embed.W_E.copy_(other.embed.W_E)
                model.pos_embed.W_pos.copy_(other.pos_embed.W_pos)
            else:
                model.ln_final.w.copy_(other.ln_final.w)
                model.ln_final.b.copy_(other.ln_final.b)
            logits = model(torch.from_numpy(trials.tokens))[:, -1].numpy()
        rows = np.arange(len(trials))
        margin = logits[rows, trials.contextual] - logits[rows, trials.fixed]
        after = found["margin_after"].sel(move="one", branch=receiver.branch).isel(group=row).values
        np.testing.assert_allclose(after, margin, rtol=0, atol=2e-5)
        before = found["margin"].sel(branch=receiver.branch).values
        assert np.abs(after - before).max() > 1e-4


def test_all_but_one_is_built_from_the_complement(case):
    below, above, trials, found = case
    for partition, level in ((groups, "group"), (families, "family")):
        every = partition(below.setup.model)
        rows = np.flatnonzero(found["level"].values == level)
        assert [str(name) for name in found["name"].values[rows]] == [one.name for one in every]
        for row, left_out in list(zip(rows, every, strict=True))[::3]:
            for receiver, donor in ((below, above), (above, below)):
                rest = [one for one in every if one is not left_out]
                margin = measured_weights(below.setup, moved(receiver.weights, donor.weights, rest), trials)["margin"]
                stored = found["margin_after"].sel(move="all but one", branch=receiver.branch, group=row).values
                assert margin.tobytes() == stored.tobytes(), left_out.name


def alike(array: xr.DataArray) -> xr.DataArray:
    return array.drop_vars("move", errors="ignore").transpose("group", "trial")


def test_what_all_but_one_leave_is_what_the_one_moves_the_other_way(case):
    *_, found = case
    values = exchanged(found)
    one, rest = values.sel(move="one"), values.sel(move="all but one")
    xr.testing.assert_allclose(alike(values["gap"] - rest["into_below"]), alike(one["into_above"]), rtol=0, atol=1e-12)
    xr.testing.assert_allclose(alike(values["gap"] - rest["moved"]), alike(one["moved"]), rtol=0, atol=1e-12)
    assert np.abs(one["into_below"] - one["into_above"]).max() > 1e-4


def test_logits_moved_on_planted_numbers():
    found = xr.Dataset(
        {
            "margin": (("branch", "trial"), [[3.0], [1.0]]),
            "margin_after": (("move", "branch", "group", "trial"), [[[[2.4]], [[1.2]]], [[[1.2]], [[2.4]]]]),
        },
        {"move": ["one", "all but one"], "branch": ["below", "above"]},
    )
    values = exchanged(found).isel(group=0, trial=0)
    assert float(values["gap"]) == 2
    expected = {"into_below": 0.6, "into_above": 0.2, "moved": 0.4, "interaction": 0.2}
    assert {name: pytest.approx(float(values[name].sel(move="one"))) for name in expected} == expected
    assert float(values["moved"].sel(move="all but one")) == pytest.approx(1.6)


def test_one_network_twice_moves_exactly_nothing(case):
    below, _, trials, _ = case
    found = weight_patching(below.setup, below.weights, below.weights, trials)
    assert (found["distance"] == 0).all()
    rows = weight_rows(weight_table(found))
    for row in rows:
        assert (row["logits_moved"].low, row["logits_moved"].high) == (0, 0)
        assert row["share"].estimate is None
        assert row["share"].reason
    assert {share_text(row["share"]) for row in rows} == {"undefined"}


def test_distance_adds_up_over_a_partition(case):
    below, above, _, found = case
    whole = sum(float((below.weights[k].double() - above.weights[k].double()).pow(2).sum()) for k in below.weights)
    for level in ("group", "family"):
        squares = found["distance"].values[found["level"].values == level] ** 2
        assert squares.sum() == pytest.approx(whole)
    first = groups(below.setup.model)[0]
    assert distance(below.weights, above.weights, first) == pytest.approx(float(found["distance"][0]))


def test_rows_of_a_pair_and_their_sums(case):
    *_, found = case
    values, rows = exchanged(found).sel(move="one"), weight_rows(weight_table(found))
    assert len(rows) == found.sizes["group"] + 2
    for index, row in enumerate(rows[:-2]):
        expected = over_trials(values["moved"].isel(group=index).values, "logits")
        assert row["logits_moved"].method == expected.method
        assert row["logits_moved"].estimate == pytest.approx(expected.estimate, rel=1e-12)
        assert row["logits_moved"].high == pytest.approx(expected.high, rel=1e-12)
        assert row["group"] == str(found["name"].values[index])
    for level, row in zip(("group", "family"), rows[-2:], strict=True):
        members = values["moved"].isel(group=np.flatnonzero(found["level"].values == level))
        assert row["logits_moved"].estimate == pytest.approx(float(members.sum("group").mean("trial")))
        assert "all_but_moved" not in row


def test_rows_of_many_seeds_take_the_seed_as_unit(case):
    *_, found = case
    scaled = [xr.concat([found * (s + 1), found * (s + 1.5)], "order") for s in range(3)]
    many = xr.concat(scaled, "seed").assign_coords(seed=range(3), order=range(2))
    values = exchanged(found).sel(move="one")["moved"].mean("trial")
    for index, row in enumerate(weight_rows(weight_table(many))[: found.sizes["group"]]):
        expected = student_t([float(values[index]) * (s + 1.25) for s in range(3)], "logits")
        assert row["logits_moved"].n == 3
        assert row["logits_moved"].estimate == pytest.approx(expected.estimate, rel=1e-4, abs=1e-7)
        assert row["logits_moved"].high == pytest.approx(expected.high, rel=1e-4, abs=1e-6)


def test_the_table_holds_groups_families_and_sums_and_nobody_moves_all_but_a_sum(case):
    *_, found = case
    table = weight_table(found)
    assert list(table["group"].values) == [*found["name"].values, *SUMS]
    assert list(table["partition"].values) == [*found["level"].values, *LEVELS]
    for index, row in enumerate(weight_rows(table)):
        for name in ("logits_moved", "into_below", "all_but_moved"):
            number = float(table["estimate"].sel(quantity=name).isel(group=index))
            assert np.isnan(number) if name not in row else number == row[name].estimate
        assert ("all_but_moved" in row) == (row["group"] not in SUMS)


def test_shares_are_told_at_two_decimals():
    share = Estimate(0.004, -0.016, 0.0249, 0.95, "by hand", "share of the gap", 5)
    assert share_text(share) == "+0.00 [-0.02, +0.02]"
    assert share_text(Estimate(-0.001, -0.4, 0.4, 0.95, "by hand", "share of the gap", 5)).startswith("+0.00 ")
    assert share_text(undefined("the gap may be 0", "share of the gap", 5)) == "undefined"


def test_networks_of_two_shapes_are_refused(case, one_sentence):
    below, above, trials, _ = case
    wide = dict(above.weights) | {"unembed.b_U": torch.zeros(99)}
    with pytest.raises(UserError) as caught:
        weight_patching(below.setup, below.weights, wide, trials)
    one_sentence(caught.value, "unembed.b_U", "99")
    lacking = {name: value for name, value in above.weights.items() if name != "ln_final.w"}
    with pytest.raises(UserError) as caught:
        moved(below.weights, lacking, [])
    one_sentence(caught.value, "ln_final.w", "missing")
