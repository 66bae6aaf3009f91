"""Topology on planted maps: which cells are free, what similarity and gain say, matched heads, the dominant head."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.maps import flat, free_cells, mean_map
from hyst_interp.interventions.patching import normalised, patching_map
from hyst_interp.questions.similarity.measure import (
    FEW_CELLS,
    dominant_head,
    gain,
    head_strength,
    matched_similarity,
    sibling_pairs,
    similarity,
)
from hyst_interp.streams import Stream
from hyst_interp.tasks.recall import ROLES
from hyst_interp.tasks.registry import task_of

LABELS = ["k1", "v1", "k2", "v2", "k3", "v3", "q"]


def planted(site: str, twin: str = "value", axis: str = "role", heads: int = 2, seed: int = 0) -> xr.DataArray:
    """A mean map of two layers with random cells."""
    place, labels = ("role", list(ROLES)) if axis == "role" else ("pos", LABELS)
    layers = 3 if site == "resid_pre" else 2
    head = {"head": list(range(heads))} if site in ("result", "pattern") else {}
    coords = {"layer": list(range(layers)), **head, place: labels}
    values = np.random.default_rng(seed).normal(size=[len(v) for v in coords.values()])
    return xr.DataArray(values, coords, dims=list(coords), attrs={"site": site, "twin": twin, "axis": axis})


def effects(site: str, twin: str, mean: np.ndarray, trials: int = 40, spread: float = 0.1, seed: int = 0) -> xr.Dataset:
    """Per-trial effects by role with the given mean map."""
    map_ = planted(site, twin, heads=mean.shape[1] if mean.ndim == 3 else 2)
    noise = np.random.default_rng(seed).normal(size=(*mean.shape, trials)) * spread
    values = mean[..., None] + noise - noise.mean(-1, keepdims=True)
    zeros = np.zeros(trials)
    return xr.Dataset(
        {"effect": ((*map_.dims, "trial"), values), "base": ("trial", zeros), "donor": ("trial", zeros + 1)},
        coords=map_.coords,
        attrs=map_.attrs,
    )


# Rows are layers; columns are roles (queried key, its value, other keys, other values, query) or positions k1 … q.
FREE = {
    ("resid_pre", "value", "role"): ["00000", "01111", "00000"],
    ("resid_pre", "rename", "role"): ["00000", "11111", "00000"],
    ("resid_pre", "query", "role"): ["00000", "00001", "00000"],
    ("mlp_out", "value", "role"): ["01111", "00001"],
    ("mlp_out", "rename", "role"): ["11111", "00001"],
    ("mlp_out", "query", "role"): ["00001", "00001"],
    ("result", "value", "role"): ["01111", "00001"],
    ("result", "rename", "role"): ["11111", "00001"],
    ("result", "query", "role"): ["00001", "00001"],
    ("pattern", "value", "role"): ["01111", "00001"],
    ("pattern", "rename", "role"): ["11111", "00001"],
    ("resid_pre", "value", "position"): ["0000000", "0111111", "0000000"],
    ("resid_pre", "rename", "position"): ["0000000", "1111111", "0000000"],
    ("resid_pre", "query", "position"): ["0000000", "0000001", "0000000"],
    ("mlp_out", "value", "position"): ["0111111", "0000001"],
    ("mlp_out", "rename", "position"): ["1111111", "0000001"],
    ("mlp_out", "query", "position"): ["0000001", "0000001"],
    ("result", "value", "position"): ["0111111", "0000001"],
    ("result", "rename", "position"): ["1111111", "0000001"],
    ("result", "query", "position"): ["0000001", "0000001"],
    ("pattern", "value", "position"): ["0111111", "0000001"],
    ("pattern", "rename", "position"): ["0111111", "0000001"],
}


@pytest.mark.parametrize(("site", "twin", "axis"), list(FREE), ids=["-".join(one) for one in FREE])
def test_free_cells_as_literal_tables(site, twin, axis):
    map_ = planted(site, twin, axis)
    free = free_cells(map_.attrs, map_).transpose(*map_.dims)
    table = np.array([[digit == "1" for digit in row] for row in FREE[site, twin, axis]])
    expected = table if free.ndim == 2 else np.repeat(table[:, None], 2, axis=1)
    assert (free.values == expected).all()


@pytest.mark.parametrize(("site", "twin", "axis"), list(FREE), ids=["-".join(one) for one in FREE])
def test_cells_that_are_free_move_and_cells_that_are_not_are_zero_or_the_whole(
    small_pair, small_setup, site, twin, axis
):
    """The tables against a network: what is left out is known beforehand, what is kept is not."""
    trials = task_of(small_setup).twin(small_pair.trials.take(slice(0, 16)), twin)
    found = patching_map(small_pair.below, trials, site, "denoise", axis)
    place = "role" if axis == "role" else "pos"
    free = free_cells(found.attrs, found["effect"].isel(trial=0))
    values = found["effect"].transpose("layer", place, ...)
    moves = (values != 0).any([d for d in values.dims if d not in ("layer", place)])
    whole = found["donor"] - found["base"]
    free = free.transpose("layer", place, ...)
    free = free.any("head") if "head" in free.dims else free
    assert moves.values[free.values].all()
    for layer, where in np.argwhere(~free.values):
        cell = values.isel({"layer": int(layer), place: int(where)})
        fixed_stream = site == "resid_pre" and layer in (0, 2)
        assert fixed_stream or (cell.values == 0).all()
        if site == "resid_pre" and layer == 2:
            last = where == found.sizes[place] - 1
            np.testing.assert_allclose(cell.values, whole.values if last else 0, rtol=0, atol=5e-6)


def test_number_of_free_cells_is_printed_and_few_are_flagged():
    value, rename = planted("resid_pre", "value"), planted("resid_pre", "rename", seed=1)
    assert (similarity(value, value).cells, similarity(rename, rename).cells) == (4, 5)
    joint = similarity([value, rename], [value, rename])
    assert joint.cells == 9
    assert not joint.few
    assert similarity(value, value).few
    assert similarity(rename, rename).few
    assert FEW_CELLS == 8
    assert similarity(planted("result"), planted("result")).cells == 10


def test_flat_joins_twins_and_takes_free_cells_alone():
    value, rename = planted("resid_pre", "value"), planted("resid_pre", "rename", seed=1)
    assert flat([value, rename]).tolist() == [*value.values[1, 1:], *rename.values[1]]


@pytest.mark.parametrize("site", ["resid_pre", "result", "mlp_out", "pattern"])
def test_a_map_is_like_itself(site):
    map_ = planted(site, "rename")
    found = similarity(map_, map_)
    assert (found.pearson, found.spearman) == (pytest.approx(1), pytest.approx(1))
    assert found.distance == 0
    assert found.slope == pytest.approx(1)


@pytest.mark.parametrize("scale", [0.5, 3.0, -2.0])
def test_a_scaled_map_has_r_one_and_the_scale_as_gain(scale):
    map_ = planted("result", "rename")
    found = similarity(map_, map_.copy(data=map_.values * scale))
    assert found.pearson == pytest.approx(np.sign(scale))
    assert found.slope == pytest.approx(scale)
    assert found.distance == pytest.approx(abs(scale - 1) * np.linalg.norm(flat([map_])))


def test_cells_fixed_by_construction_do_not_count():
    map_ = planted("resid_pre")
    other = map_.copy(deep=True)
    other.values[[0, 2]] = 99.0
    other.values[1, 0] = -99.0
    assert similarity(map_, other) == similarity(map_, map_)
    other.values[1, 1] += 1
    assert similarity(map_, other).distance == pytest.approx(1)


def test_similarity_is_that_of_independent_formulas():
    a, b = planted("result", "rename"), planted("result", "rename", seed=5)
    x, y = flat([a]), flat([b])
    found = similarity(a, b)
    assert found.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
    ranks = [np.argsort(np.argsort(v)) for v in (x, y)]
    assert found.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert found.slope == pytest.approx((x * y).sum() / (x * x).sum())
    assert found.distance == pytest.approx(np.sqrt(((y - x) ** 2).sum()))
    assert abs(found.pearson) < 0.9


def test_maps_without_variation_have_no_correlation():
    flat_map = planted("result").copy(data=np.ones((2, 2, 5)))
    found = similarity(flat_map, planted("result"))
    assert (found.pearson, found.spearman) == (None, None)
    zero = similarity(flat_map.copy(data=np.zeros((2, 2, 5))), planted("result"))
    assert zero.slope is None


def test_maps_of_other_cells_or_sites_are_refused():
    with pytest.raises(ValueError, match="one site"):
        similarity(planted("result"), planted("pattern"))
    with pytest.raises(ValueError, match="cells"):
        similarity(planted("resid_pre"), planted("mlp_out"))
    with pytest.raises(ValueError, match="argument 2"):
        similarity([planted("result")], [planted("result")] * 2)


def shuffled(map_: xr.DataArray, orders: list[list[int]]) -> xr.DataArray:
    """Heads of every layer in another order."""
    values = np.stack([map_.values[layer][order] for layer, order in enumerate(orders)])
    return map_.copy(data=values)


@pytest.mark.parametrize("seed", range(5))
def test_matching_undoes_a_permutation_of_heads_within_layers_exactly(seed):
    random = np.random.default_rng(seed)
    maps = [planted("result", twin, heads=4, seed=10 + seed + i) for i, twin in enumerate(("value", "rename"))]
    orders = [[1, 2, 3, 0], list(random.permutation(4))]
    other = [shuffled(one, orders) for one in maps]
    found = matched_similarity(maps, other)
    assert found.pearson == pytest.approx(1)
    assert found.distance == 0
    assert similarity(maps, other).pearson < found.pearson - 0.05
    assert [one.values.tolist() for one in other] == [shuffled(one, orders).values.tolist() for one in maps]


def test_heads_are_matched_alike_in_both_twins_and_never_across_layers():
    maps = [planted("result", twin, heads=3, seed=i) for i, twin in enumerate(("value", "rename"))]
    apart = [shuffled(maps[0], [[1, 2, 0], [0, 1, 2]]), maps[1]]
    assert matched_similarity(maps, apart).distance > 0.1
    across = [one.copy(data=one.values[::-1]) for one in maps]
    assert matched_similarity(maps, across).distance > 0.1


def test_maps_without_heads_are_compared_as_they_are():
    a, b = [planted("resid_pre")], [planted("resid_pre", seed=4)]
    assert matched_similarity(a, b) == similarity(a, b)


def test_gain_is_read_from_raw_effects():
    """Normalised maps have slope 1 by construction: a network that engages twice as much would look the same."""
    mean = planted("result", "rename").values
    below, above = effects("result", "rename", mean), effects("result", "rename", 2 * mean)
    above["donor"] = above["donor"] * 2
    assert gain(below, above) == {"slope": pytest.approx(2), "difference_ratio": pytest.approx(2)}
    sides = [normalised(one).assign_attrs(below.attrs) for one in (below, above)]
    assert similarity(*sides).slope == pytest.approx(1)


def test_gain_of_a_network_without_a_difference_has_no_ratio():
    below = effects("result", "rename", planted("result").values)
    below["donor"] = below["base"]
    assert gain(below, below)["difference_ratio"] is None


def test_mean_map_is_the_mean_over_trials():
    found = effects("result", "value", planted("result").values)
    expected = sum(found["effect"].values[..., i] for i in range(40)) / 40
    np.testing.assert_allclose(mean_map(found).values, expected)
    assert mean_map(found).attrs == {"site": "result", "twin": "value", "axis": "role"}


def test_head_strength_sums_free_cells_alone():
    mean = np.zeros((2, 2, 5))
    mean[0, 1] = [100, 1, 2, 3, 4]
    mean[1, 0] = [100, 100, 100, 100, 5]
    found = head_strength(effects("result", "value", mean, spread=0.0))
    assert found.dims == ("layer", "head", "trial")
    assert found.values[..., 0].tolist() == [[0, 10], [5, 0]]


def one_winner(head: tuple[int, int], size: float) -> np.ndarray:
    """A map in which one head has an effect at the query."""
    mean = np.zeros((2, 2, 5))
    mean[..., 4] = 0.1
    mean[(*head, 4)] = size
    return mean


def test_a_clear_winner_is_the_same_with_probability_one():
    sides = [[effects("result", twin, one_winner((1, 0), size), seed=s)] for twin, size, s in
             (("value", 3.0, 1), ("value", 4.0, 2))]  # fmt: skip
    found = dominant_head(*sides, Stream("resampling", 0), resamples=100)
    assert (found.a, found.b, found.same_probability, found.tie, found.same) == ("L1H0", "L1H0", 1.0, False, True)


def test_two_different_winners_are_never_the_same():
    sides = [[effects("result", "value", one_winner(head, 3.0))] for head in ((1, 0), (0, 1))]
    found = dominant_head(*sides, Stream("resampling", 0), resamples=100)
    assert (found.a, found.b, found.same_probability, found.same) == ("L1H0", "L0H1", 0.0, False)
    assert not found.tie


def test_a_coin_flip_is_flagged_as_a_tie():
    mean = one_winner((1, 0), 3.0)
    mean[0, 1, 4] = 3.0
    sides = [[effects("result", "value", mean, spread=1.0, seed=s)] for s in (3, 4)]
    found = dominant_head(*sides, Stream("resampling", 0), resamples=300)
    assert found.tie
    assert 0.3 < found.same_probability < 0.7


def test_a_negative_effect_counts_by_its_size_and_twins_add_up():
    def side(value: float, rename: float) -> list[xr.Dataset]:
        return [
            effects("result", twin, one_winner(head, size), spread=0.01)
            for twin, head, size in (("value", (1, 0), value), ("rename", (0, 1), rename))
        ]

    found = dominant_head(side(-3.0, 2.0), side(2.0, -3.0), Stream("resampling", 0), resamples=50)
    assert (found.a, found.b) == ("L1H0", "L0H1")


def test_dominant_head_depends_on_its_stream_alone():
    mean = one_winner((1, 0), 3.0)
    mean[0, 1, 4] = 3.0
    sides = [[effects("result", "value", mean, spread=1.0, seed=s)] for s in (3, 4)]
    before = np.random.get_state()[1].tolist()
    first = dominant_head(*sides, Stream("resampling", 0), resamples=100)
    assert dominant_head(*sides, Stream("resampling", 0), resamples=100) == first
    assert np.random.get_state()[1].tolist() == before
    others = {dominant_head(*sides, Stream("resampling", s), resamples=100).same_probability for s in range(1, 6)}
    assert len(others) > 1


def test_sibling_pairs_are_all_pairs_of_orders():
    assert sibling_pairs(1) == []
    assert sibling_pairs(4) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
