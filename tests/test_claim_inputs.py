"""From planted results of a run to one value a seed, against plain loops over the same arrays."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.maps import maps, select
from hyst_interp.claim_inputs import evidence
from hyst_interp.questions.similarity.comparisons import between, gains, other_seeds, siblings
from hyst_interp.tasks.recall import ROLES

SEEDS, ORDERS, MAPPED, TRIALS, HOLDS = (8, 3), 3, 2, 6, (0, 25, 100)
TAU = np.array([np.nan, 0.0, 1.0, 2.0, 3.0])
BRANCHES = ["below", "above"]
TWINS = ["value", "rename"]


def patching(random: np.random.Generator, site: str) -> xr.Dataset:
    """Effects (seed, order, branch, twin, layer, [head,] role, trial) whose two branches are alike but not equal."""
    layers, heads = (3, {}) if site == "resid_pre" else (2, {"head": [0, 1, 2]})
    coords = {"seed": list(SEEDS), "order": list(range(MAPPED)), "branch": BRANCHES, "twin": TWINS}
    coords |= {"layer": list(range(layers)), **heads, "role": list(ROLES)}
    shape = [len(v) for v in coords.values()]
    common = random.normal(size=shape)[:, :, :1]
    effect = common + 0.3 * random.normal(size=shape)
    effect = effect[..., None] + 0.1 * random.normal(size=(*shape, TRIALS))
    lead = shape[:4]
    return xr.Dataset(
        {
            "effect": ((*coords, "trial"), effect.astype(np.float32)),
            "base": (("seed", "order", "branch", "twin", "trial"), random.normal(size=(*lead, TRIALS))),
            "donor": (("seed", "order", "branch", "twin", "trial"), 5 + random.normal(size=(*lead, TRIALS))),
        },
        coords=coords,
        attrs={"site": site, "direction": "denoise", "axis": "role"},
    )


@pytest.fixture(scope="module")
def results() -> dict[str, xr.Dataset]:
    """Merged results as a run's `results/*.nc` hold them."""
    random = np.random.default_rng(0)
    trial = {"query": (("seed", "trial"), random.integers(0, 4, (2, TRIALS)))}
    behaviour = xr.Dataset(
        {"margin": (("seed", "order", "hold", "branch", "trial"), random.normal(size=(2, ORDERS, 3, 2, TRIALS)))},
        coords={"seed": list(SEEDS), "order": range(ORDERS), "hold": list(HOLDS), "branch": BRANCHES, **trial},
    )
    trajectory = xr.Dataset(
        {"margin": (("seed", "order", "branch", "position", "trial"), random.normal(size=(2, ORDERS, 2, 5, TRIALS)))},
        coords={
            "seed": list(SEEDS),
            "branch": BRANCHES,
            "position": [0, 5, 10, 15, 20],
            "tau": ("position", TAU),
            "hold": ("position", TAU - 1),
        },
    )
    trajectory["margin"][:, :, 0, 1] += 50.0  # a larger gap while p is still away from p0
    rows = [("own-mean", "L0H0"), ("donor", "heads"), ("own-mean", "heads"), ("own-mean", "all")]
    attenuation = xr.Dataset(
        {
            "margin": (("seed", "order", "branch", "trial"), random.normal(size=(2, ORDERS, 2, TRIALS))),
            "margin_after": (
                ("seed", "order", "row", "branch", "trial"),
                random.normal(size=(2, ORDERS, 4, 2, TRIALS)),
            ),
        },
        coords={
            "seed": list(SEEDS),
            "branch": BRANCHES,
            "reference": ("row", [reference for reference, _ in rows]),
            "components": ("row", [name for _, name in rows]),
        },
    )
    found = {"behaviour": behaviour, "trajectory": trajectory, "attenuation-hold-000": attenuation}
    return found | {f"patching-{site}": patching(random, site) for site in ("resid_pre", "result")}


def mean_over_orders(values) -> float:
    """The mean over orders of the mean over trials; `values` is [order, trial]."""
    return sum(sum(float(v) for v in order) / len(order) for order in values) / len(values)


def free_vector(found: xr.Dataset, seed: int, branch: str, orders=range(MAPPED)) -> list[float]:
    """Free cells of both twins, by loops: middle rows of the stream; layer 0, and the query of layer 1, of heads."""
    site, vector = found.attrs["site"], []
    for twin in TWINS:
        one = found["effect"].sel(seed=seed, branch=branch, twin=twin)
        for layer in range(one.sizes["layer"]):
            for head in range(one.sizes.get("head", 1)):
                for role in ROLES:
                    if twin == "value" and role == "queried key":
                        continue
                    if (layer != 1) if site == "resid_pre" else (layer == 1 and role != "query"):
                        continue
                    cell = one.sel(layer=layer, role=role)
                    cell = cell.isel(head=head) if "head" in cell.dims else cell
                    vector.append(mean_over_orders([cell.isel(order=o).values for o in orders]))
    return vector


def test_gaps_at_holds_equal_plain_loops(results):
    found = evidence(results)
    assert found.seeds == SEEDS
    assert list(found.gap_at_hold) == list(HOLDS)
    margin = results["behaviour"]["margin"].values
    for h, hold in enumerate(HOLDS):
        for s in range(2):
            below, above = (mean_over_orders(margin[s, :, h, b]) for b in (0, 1))
            assert found.gap_at_hold[hold][s] == pytest.approx(below - above)


def test_peak_is_taken_after_the_last_step_away_over_the_mean_of_seeds(results):
    margin = results["trajectory"]["margin"].values
    means = []
    for position in range(5):
        gaps = [[mean_over_orders(margin[s, :, b, position]) for b in (0, 1)] for s in range(2)]
        means.append(sum(below - above for below, above in gaps) / 2)
    expected = max(means[2:], key=abs)
    assert evidence(results).peak_gap == pytest.approx(expected)
    assert abs(means[1]) > 10 * abs(expected)


def test_moved_by_heads_is_the_row_of_own_means_of_all_heads(results):
    found, one = evidence(results), results["attenuation-hold-000"]
    for s in range(2):
        before = [mean_over_orders(one["margin"].values[s, :, b]) for b in (0, 1)]
        after = [mean_over_orders(one["margin_after"].values[s, :, 2, b]) for b in (0, 1)]
        gap = before[0] - before[1]
        assert found.attenuation_gap[s] == pytest.approx(gap)
        assert found.moved_by_heads[s] == pytest.approx(gap - (after[0] - after[1]))


@pytest.mark.parametrize("site", ["resid_pre", "result"])
def test_correlations_are_over_free_cells_of_both_twins_joined(results, site):
    found, one = evidence(results), results[f"patching-{site}"]
    for s, seed in enumerate(SEEDS):
        x, y = (np.array(free_vector(one, seed, branch)) for branch in BRANCHES)
        assert found.correlation[site][s] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-5)
        assert between(one, seed).cells == len(x) == (9 if site == "resid_pre" else 33)
        assert between(one, seed).distance == pytest.approx(np.sqrt(((y - x) ** 2).sum()), abs=1e-4)
    assert (found.correlation[site] < 0.99).all()


def test_dominant_head_equals_a_plain_loop(results):
    found, one = evidence(results), results["patching-result"]
    expected = []
    for seed in SEEDS:
        picked = []
        for branch in BRANCHES:
            strength = {}
            for layer in range(2):
                for head in range(3):
                    total = 0.0
                    for twin in TWINS:
                        roles = ["query"] if layer == 1 else [r for r in ROLES if twin != "value" or r != "queried key"]
                        cells = one["effect"].sel(seed=seed, branch=branch, twin=twin, layer=layer, head=head)
                        total += abs(sum(mean_over_orders(cells.sel(role=role).values) for role in roles))
                    strength[layer, head] = total
            picked.append(max(strength, key=strength.get))
        expected.append(picked[0] == picked[1])
    assert found.same_dominant_head.tolist() == expected


def test_siblings_are_like_branches_on_other_data(results):
    one = results["patching-result"]
    found = siblings(one, SEEDS[0])
    assert len(found) == 2
    for branch, sibling in zip(BRANCHES, found, strict=True):
        x, y = (np.array(free_vector(one, SEEDS[0], branch, [order])) for order in (0, 1))
        assert sibling.pearson == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-5)
    repeated = xr.concat([one.isel(order=0)] * 2, dim="order", combine_attrs="override").assign_coords(order=[0, 1])
    assert all(s.distance == 0 and s.pearson == pytest.approx(1) for s in siblings(repeated, SEEDS[0]))


def test_the_floor_is_other_seeds_with_heads_matched(results):
    one = results["patching-result"]
    assert len(other_seeds(one, SEEDS[0])) == 2
    renamed = one.copy(deep=True)
    renamed["effect"].loc[{"seed": SEEDS[1]}] = one["effect"].sel(seed=SEEDS[0]).isel(head=[2, 0, 1]).values
    assert all(s.pearson == pytest.approx(1) for s in other_seeds(renamed, SEEDS[0]))
    assert all(s.pearson < 0.99 for s in other_seeds(one, SEEDS[0]))


def test_one_order_can_be_selected(results):
    one = results["patching-resid_pre"]
    twins = select(one, SEEDS[1], "above", order=1)
    assert [twin.attrs["twin"] for twin in twins] == TWINS
    for twin, name in zip(maps(one, SEEDS[1], "above", order=1), TWINS, strict=True):
        cells = one["effect"].sel(seed=SEEDS[1], branch="above", twin=name, order=1)
        np.testing.assert_allclose(twin.values, cells.values.astype(float).mean(-1), atol=1e-6)


def test_gains_are_a_twin_at_a_time(results):
    one = results["patching-result"]
    doubled = one.copy(deep=True)
    for name, factor in (("effect", 2.0), ("base", 3.0), ("donor", 3.0)):
        doubled[name].loc[{"branch": "above"}] = factor * one[name].sel(branch="below").values
    for seed in SEEDS:
        found = gains(doubled, seed)
        assert list(found) == TWINS
        for gain in found.values():
            assert gain == {"slope": pytest.approx(2, abs=1e-5), "difference_ratio": pytest.approx(3)}


def test_a_map_without_variation_has_no_correlation_and_is_no_crash(results):
    constant = results | {"patching-result": results["patching-result"].copy(deep=True)}
    constant["patching-result"]["effect"].loc[{"branch": "above"}] = 1.0
    assert np.isnan(evidence(constant).correlation["result"]).all()


@pytest.mark.parametrize("name", ["behaviour", "trajectory", "attenuation-hold-000", "patching-result"])
def test_a_missing_result_is_a_key_error_that_names_it(results, name):
    with pytest.raises(KeyError, match=name):
        evidence({key: value for key, value in results.items() if key != name})


def test_seeds_and_orders_in_another_sequence_change_nothing_but_the_sequence(results):
    turned = {name: one.isel(seed=[1, 0]) for name, one in results.items()}
    first, second = evidence(results), evidence(turned)
    assert second.seeds == SEEDS[::-1]
    np.testing.assert_allclose(second.gap_at_hold[0], first.gap_at_hold[0][::-1])
    np.testing.assert_allclose(second.correlation["result"], first.correlation["result"][::-1])
    assert second.peak_gap == pytest.approx(first.peak_gap)
