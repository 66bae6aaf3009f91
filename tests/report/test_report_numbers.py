"""What the report adds up: bands, strata, likeness, and replacements over seeds, against plain loops."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.maps import history_maps
from hyst_interp.analysis.summary import cell, records
from hyst_interp.history.schedule import paired_schedules
from hyst_interp.questions.attenuation.summary import gap_before, replacements
from hyst_interp.questions.gap.strata import by_stratum
from hyst_interp.questions.gap.trajectory import best_margin, branch_margins, mixtures
from hyst_interp.questions.similarity.similarity_over_seeds import NEAREST, likeness
from hyst_interp.statistics import student_t
from hyst_interp.storage.results import read_all


@pytest.fixture(scope="module")
def merged(planted_run):
    study, root = planted_run()
    return study, read_all(root / "results")


def test_strata_are_plain_means_over_their_trials(merged):
    study, results = merged
    behaviour = results["behaviour"]
    margin = behaviour["margin"].values.astype(float)
    present = behaviour["fixed_present"].values == 1
    table = by_stratum(behaviour)
    means = []
    for s in range(len(study.seeds)):
        gaps = margin[s, :, :, 0] - margin[s, :, :, 1]
        means.append(gaps[:, :, present[s]].mean(-1).mean(0))
    inside = table.sel(stratum="fixed answer in the prompt")
    np.testing.assert_allclose(inside["estimate"], np.mean(means, 0), atol=1e-12)
    for index in range(table.sizes["hold"]):
        interval = student_t([mean[index] for mean in means], "logits")
        assert cell(inside.isel(hold=index)).low == pytest.approx(interval.low)
    assert float(inside["share"]) == pytest.approx(present.mean())
    assert float(inside["share"] + table["share"].sel(stratum="fixed answer absent")) == pytest.approx(1)


def test_best_margins_stand_beside_the_margins(merged):
    _, results = merged
    margins = branch_margins(results["trajectory"])
    p = results["trajectory"]["p"].values
    np.testing.assert_allclose(margins["best_margin"], np.log(p / (1 - p)))
    np.testing.assert_allclose(best_margin(np.array([0.5, 0.9])), [0, np.log(9)], atol=1e-12)


def test_mixtures_are_the_schedules_and_then_home(merged):
    study, _ = merged
    schedules = {str(name): one for name, one in paired_schedules(study.schedule, study.p0).items()}
    found = mixtures(schedules, after=3)
    np.testing.assert_array_equal(found.sel(branch="above")[:-3], schedules["above"].p)
    assert (found[:, -3:] == study.p0).all()


def test_a_map_is_like_itself_and_the_floor_claims_no_interval(merged):
    _, results = merged
    found = results["patching-result"]
    same = found.copy()
    same["effect"] = (
        xr.concat([found["effect"].sel(branch="below")] * 2, dim="branch")
        .assign_coords(branch=["below", "above"])
        .transpose(*found["effect"].dims)
    )
    alike = likeness(same)
    assert alike.correlation("histories").estimate == pytest.approx(1)
    assert float(alike.unlikeness().sel(kind="histories").max()) == NEAREST
    assert alike.distance("histories").estimate == pytest.approx(0)
    floor = alike.correlation("floor")
    assert floor.low is None
    assert "not independent" in floor.reason


def test_one_seed_has_no_floor_and_one_order_no_ceiling(merged):
    _, results = merged
    alone = likeness(results["patching-resid_pre"].isel(seed=[0], order=[0]))
    assert alone.correlation("floor").estimate is None
    assert alone.correlation("ceiling").estimate is None
    assert alone.unlikeness().sel(kind="floor").isnull().all()


def test_replacements_over_seeds_are_plain_means(merged):
    _, results = merged
    found = results["attenuation-hold-000"]
    before, after = found["margin"].astype(float), found["margin_after"].astype(float)
    gap = (before.sel(branch="below") - before.sel(branch="above")).mean(["order", "trial"])
    left = (after.sel(branch="below") - after.sel(branch="above")).mean(["order", "trial"])
    assert gap_before(found).estimate == pytest.approx(float(gap.mean()))
    rows = records(replacements(found))
    for index, row in enumerate(rows):
        kept = float(left.isel(row=index).mean())
        if row["reference"] == "donor":  # two directions, each on its own: the mean of what they move
            kept = (kept + float(gap.mean())) / 2
        assert row["gap_after"].estimate == pytest.approx(kept)
        assert row["logits_moved"].n == gap.sizes["seed"]
        assert ("interaction" in row) == (row["reference"] == "donor")


def test_maps_of_several_seeds_are_their_mean(merged):
    study, results = merged
    found = results["patching-resid_pre"]
    for index, array in enumerate(history_maps(found, study.seeds)):
        effect = found["effect"].astype(float).isel(twin=index).mean(["seed", "order", "trial"])
        np.testing.assert_allclose(array.sel(history="below"), effect.sel(branch="below"))
        assert array.attrs["twin"] == str(found["twin"].values[index])
