"""The account of the gap, where it agrees with replacements, and similarity beside gain, on planted arrays."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.agreement import compared
from hyst_interp.questions.attribution.direct_attribution import account, agreements, margins
from hyst_interp.questions.patching.attention_summary import history_attention, largest_difference
from hyst_interp.questions.similarity.engagement import engagement
from hyst_interp.questions.similarity.similarity_over_seeds import likeness
from hyst_interp.statistics import Estimate, power, student_t

TERMS = ["embed", "pos", "L0H0", "L0H1", "L1H0", "L1H1", "L0 b_O", "L1 b_O", "L0MLP", "L1MLP", "bias"]
PARTS = ["activation", "readout", "scale"]


def planted_direct(n_seeds: int = 4) -> xr.Dataset:
    random = np.random.default_rng(2)
    parts = random.normal(0, 0.1, (n_seeds, 2, len(TERMS), len(PARTS), 30)) + np.linspace(-0.3, 0.3, 11)[:, None, None]
    above = random.normal(0, 1, (n_seeds, 2, len(TERMS), 30))
    direct = np.stack([above + parts.sum(3), above], axis=2)
    return xr.Dataset(
        {
            "direct": (("seed", "order", "branch", "term", "trial"), direct),
            "split": (("seed", "order", "term", "part", "trial"), parts),
        },
        {"seed": range(n_seeds), "branch": ["below", "above"], "term": TERMS, "part": PARTS},
    )


def interval(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, 0.95, "planted", "logits", 5)


def test_terms_and_parts_add_up_to_the_gap():
    data = planted_direct()
    found = account(data)
    gap = (data["direct"].sel(branch="below") - data["direct"].sel(branch="above")).sum("term").mean(["trial", "order"])
    assert found.total.estimate == pytest.approx(float(gap.mean()))
    assert found.residual < 1e-12
    assert sum(found.part(part).estimate for part in PARTS) == pytest.approx(found.total.estimate)
    assert sum(found.term(term).estimate for term in TERMS) == pytest.approx(found.total.estimate)
    levels = margins(data).sum("term").mean("seed")
    assert float(levels.sel(branch="below") - levels.sel(branch="above")) == pytest.approx(found.total.estimate)


def test_parts_that_do_not_add_up_are_seen():
    data = planted_direct()
    data["split"][1, :, 3] += 0.5
    assert account(data).residual == pytest.approx(1.5)  # three parts, each half a logit too large


def test_without_a_split_there_are_terms_alone():
    found = account(planted_direct().drop_vars("split"))
    assert found.parts == []
    with pytest.raises(ValueError, match="scale"):
        found.part("scale")


@pytest.mark.parametrize(
    ("direct", "moved", "word"),
    [
        ((0.1, 0.3), (0.2, 0.4), "agree"),
        ((0.1, 0.2), (0.3, 0.4), "same sign"),
        ((-0.4, -0.3), (-0.2, -0.1), "same sign"),
        ((0.1, 0.2), (-0.4, -0.3), "opposite signs"),
        ((-0.1, 0.2), (0.1, 0.2), "undetermined"),
        ((0.1, 0.2), (-0.1, 0.2), "undetermined"),
    ],
)
def test_two_intervals_compare_by_rule(direct, moved, word):
    assert compared(interval(*direct), interval(*moved)) == word
    assert compared(interval(*moved), interval(*direct)) == word


def test_no_interval_is_undetermined():
    alone = Estimate(0.1, None, None, 0.95, "planted", "logits", 1, "one value")
    assert compared(alone, interval(0.1, 0.2)) == "undetermined"


def test_agreements_name_what_the_direct_term_leaves_out():
    moved = student_t(np.array([0.1, 0.12, 0.11]), "logits")
    mass = {"L0H0": 0.5, "L1H1": 0.99, "L0MLP": 0.99, "L1MLP": 0.99}
    rows = [
        {"components": name, "reference": reference, "logits_moved": moved, "answer_mass": interval(m, m)}
        for name, m in mass.items()
        for reference in ("own-mean", "donor", "pooled-mean")
    ]
    rows.append({"components": "heads", "reference": "donor", "logits_moved": moved, "answer_mass": moved})
    found = {one.component: one for one in agreements(account(planted_direct()), rows, ("own-mean", "donor"))}
    assert list(found) == ["L0H0", "L1H1", "L0MLP", "L1MLP"]
    assert set(found["L0H0"].moved) == {"own-mean", "donor"}
    for name in ("L0H0", "L0MLP"):
        assert "layer 0 also speaks to the layers after it" in found[name].reason
    assert "MLP after it" in found["L1H1"].reason
    assert "nothing reads it but the readout" in found["L1MLP"].reason
    assert "leaves the distribution" in found["L0H0"].reason
    assert "leaves the distribution" not in found["L1H1"].reason


def planted_effects(gain: float, n_seeds: int = 5) -> xr.Dataset:
    random = np.random.default_rng(4)
    base = random.normal(0, 2, (n_seeds, 1, 1, 1, 3, 2, 5))
    factor = np.array([1.0, gain])[None, None, :, None, None, None, None]
    factor = factor * (1 + 0.01 * random.normal(size=(n_seeds, 1, 2, 1, 1, 1, 1)))
    effect = base * factor + random.normal(0, 0.02, (n_seeds, 2, 2, 2, 3, 2, 5))
    roles = ["queried key", "its value", "other keys", "other values", "query"]
    coords = {"seed": range(n_seeds), "order": [0, 1], "branch": ["below", "above"], "twin": ["value", "rename"]}
    coords |= {"layer": range(3), "head": range(2), "role": roles}
    dims = ("seed", "order", "branch", "twin", "layer", "head", "role")
    return xr.Dataset({"effect": (dims, effect)}, coords, {"site": "result", "axis": "role"})


@pytest.mark.parametrize("gain", [1.0, 1.2])
def test_a_planted_gain_is_found_beside_a_similarity_of_one(gain):
    found = engagement(likeness(planted_effects(gain)))
    assert found.gain.contains(gain)
    assert float(found.points["unlike"].sel(kind="histories").max()) < 0.01
    assert found.gain.excludes(1) == (gain != 1)
    slopes = found.points["gain"].sel(kind="histories").values[:, 0]
    assert power(found.detectable, float(slopes.std(ddof=1)), 5) == pytest.approx(0.8, abs=1e-6)
    siblings = found.points["gain"].sel(kind="ceiling").values
    assert np.nanmax(np.abs(siblings - 1)) < 0.05


def test_distance_in_units_of_siblings_grows_with_the_gain_alone():
    apart = [engagement(likeness(planted_effects(gain))).siblings_apart for gain in (1.0, 1.5)]
    assert apart[0].estimate < 3
    assert apart[1].estimate > 10
    assert engagement(likeness(planted_effects(1.0).isel(order=[0]))).siblings_apart.estimate is None


def test_one_seed_has_a_gain_and_no_claim():
    found = engagement(likeness(planted_effects(1.1, n_seeds=1)))
    assert found.gain.low is None
    assert found.detectable is None


def test_attention_of_both_histories_and_their_difference():
    random = np.random.default_rng(5)
    values = random.dirichlet(np.ones(5), size=(2, 2, 2, 2, 3, 40)).transpose(0, 1, 2, 3, 4, 6, 5)
    roles = ["queried key", "its value", "other keys", "other values", "query"]
    dims = ("seed", "order", "branch", "layer", "head", "role", "trial")
    coords = {"seed": [0, 1], "branch": ["below", "above"], "layer": [0, 1], "head": range(3), "role": roles}
    data = xr.Dataset({"attention": (dims, values)}, coords)
    data["attention"][1, :, 0, 1, 2, 1] += 0.5
    found = history_attention(data, 1)
    np.testing.assert_allclose(found.sel(history="below"), data["attention"].values[1, :, 0].mean((0, 4)))
    np.testing.assert_allclose(found.sel(history="above").sum("role"), 1)
    assert largest_difference(found)[:2] == ("L1H2", "its value")
    assert largest_difference(found)[2] == pytest.approx(0.5, abs=0.1)
