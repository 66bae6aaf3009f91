"""Curves, dots, and forests draw what they are given, and wide intervals do not squash it."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp import figures
from hyst_interp.analysis.summary import from_estimates, join, summarise
from hyst_interp.plots.intervals import limits
from hyst_interp.plots.theme import COLOURS
from hyst_interp.statistics import ratio_of_means, student_t, undefined


@pytest.fixture
def planted_margins() -> xr.DataArray:
    values = np.array([[[0, 1, 0.2, -1], [0, -1, -0.2, 1]], [[0, 1.2, 0.1, -1.1], [0, -1.1, -0.1, 0.9]]])
    best = np.array([[0, 1.4, 0, -1.4], [0, -1.4, 0, 1.4]])
    coords = {"seed": [0, 1], "branch": ["below", "above"], "position": [0, 5, 10, 15]}
    return xr.DataArray(values, coords, ("seed", "branch", "position")).assign_coords(
        best_margin=(("branch", "position"), best)
    )


def find(figure, name):
    return [trace for trace in figure.data if trace.name == name]


@pytest.mark.parametrize("stacked", [False, True])
def test_the_loop_draws_diagonal_seeds_and_mean(planted_margins, stacked):
    mean = summarise(planted_margins)["estimate"]
    figure = figures.margin_loop(planted_margins, mean, 15, stacked)
    for diagonal in find(figure, "margin = log(p/(1−p))"):
        assert list(diagonal.x) == list(diagonal.y)
    for index, trace in enumerate(find(figure, "mean of seeds")):
        np.testing.assert_allclose(trace.x, planted_margins["best_margin"].values[index])
        np.testing.assert_allclose(trace.y, planted_margins.mean("seed").values[index])
    assert len(find(figure, "seed 0")) == len(find(figure, "seed 1")) == 2


def test_the_loop_ends_at_arrival(planted_margins):
    figure = figures.margin_loop(planted_margins, summarise(planted_margins)["estimate"], 10)
    assert all(len(trace.x) == 3 for trace in find(figure, "mean of seeds"))


def test_the_course_has_the_best_margin_beside_it(planted_margins):
    figure = figures.margin_course(planted_margins, summarise(planted_margins), 10)
    for index, branch in enumerate(("below", "above")):
        trace = find(figure, f"best, from {branch}")[0]
        np.testing.assert_allclose(trace.y, planted_margins["best_margin"].values[index])
        assert find(figure, f"mean, from {branch}")[0].line.color == COLOURS[branch]


@pytest.mark.parametrize("stacked", [False, True])
def test_the_gap_has_both_clocks(planted_curve, stacked):
    figure = figures.gap_course(planted_curve, summarise(planted_curve), stacked)
    late = next(trace for trace in figure.data if trace.name == "mean of seeds" and trace.xaxis == "x2")
    assert list(late.x) == [-1, 4, 9, 14]  # positions 15 … 30; the last update away from p0 is update 16
    marks = {note.text: note.x for note in figure.layout.annotations if note.xref == "x2"}
    assert marks["0"] == 4
    assert marks["10"] == 14
    assert "5" not in marks  # measured, but no hold of the study


def test_a_curve_that_never_left_home_is_drawn(planted_curve):
    still = planted_curve.assign_coords(tau=("position", np.full(planted_curve.sizes["position"], np.nan)))
    assert figures.gap_course(still, summarise(still)).data


def test_one_seed_has_no_band_and_is_drawn(planted_curve):
    one = planted_curve.isel(seed=[0])
    spread = summarise(one)
    assert np.isnan(spread["low"]).all()
    figure = figures.gap_course(one, spread)
    assert np.isfinite(figure.layout.yaxis2.range).all()


def test_every_seed_order_and_mean_stands_at_every_hold():
    values = np.arange(12.0).reshape(2, 3, 2) / 10
    gaps = xr.DataArray(values, {"seed": [0, 1], "order": [0, 1, 2], "hold": [0, 25]}, ("seed", "order", "hold"))
    seeds = gaps.mean("order")
    figure = figures.gap_at_holds(gaps, seeds, summarise(seeds))
    for index, trace in enumerate(find(figure, "one data order")):
        np.testing.assert_allclose(sorted(trace.y), sorted(values[:, :, index].ravel()))
    for index, trace in enumerate(find(figure, "mean of seeds, with interval")):
        assert trace.y[0] == pytest.approx(values[:, :, index].mean())
    assert [str(text)[:2].strip() for text in figure.layout.xaxis.ticktext] == ["0", "25"]


def test_the_forest_has_a_row_a_replacement_and_the_gap_as_a_line():
    moved = [student_t(np.array(pair), "logits") for pair in ([0.09, 0.11], [0.02, -0.5], [0.1, 0.1])]
    whole = np.array([0.1, 0.12])
    attenuated = [
        student_t(np.array([0.9, 0.92]), "ratio"),
        undefined("planted", "ratio", 2),
        ratio_of_means(whole, whole),
    ]
    table = join({"logits_moved": from_estimates(moved, "row"), "attenuation": from_estimates(attenuated, "row")})
    table = table.assign_coords(
        components=("row", ["L0H0", "heads", "heads"]), reference=("row", ["own-mean", "own-mean", "donor"])
    )
    gap = student_t(whole, "logits")
    figure = figures.logits_moved_forest(table, gap)
    points = {trace.name: list(trace.x) for trace in figure.data if trace.name in ("own-mean", "donor")}
    assert points == {"own-mean": pytest.approx([0.1, -0.24]), "donor": pytest.approx([0.1])}
    assert list(figure.layout.yaxis.ticktext) == ["L0H0", "heads", "heads"]
    assert any(shape.type == "line" and shape.x0 == pytest.approx(0.11) for shape in figure.layout.shapes)
    assert find(figure, "interval goes on"), "the second row's interval is far wider than the numbers"
    texts = [note.text for note in figure.layout.annotations]
    assert "undefined" in texts
    assert "undefined" not in [n.text for n in figures.logits_moved_forest(table, gap, stacked=True).layout.annotations]


def test_similarity_is_spaced_by_one_minus_r():
    values = np.array([[[1e-3], [2e-3]], [[1e-4], [np.nan]], [[0.1], [0.2]]])
    unlike = xr.DataArray(
        values,
        {"kind": ["histories", "ceiling", "floor"], "seed": [0, 1]},
        ("kind", "seed", "comparison"),
        attrs={"site": "result"},
    )
    figure = figures.similarity_dots([unlike])
    drawn = {trace.name.split(":")[0]: list(trace.x) for trace in figure.data}
    assert drawn == {"from below against from above": [1e-3, 2e-3], "ceiling": [1e-4], "floor": [0.1, 0.2]}
    left, right = figure.layout.xaxis.range
    assert left > np.log10(0.2)
    assert right < np.log10(1e-4)


def test_the_schedule_is_drawn_update_by_update():
    p = xr.DataArray(
        [[0.7, 0.3, 0.5], [0.3, 0.7, 0.5]],
        {"branch": ["below", "above"], "update": [1, 2, 3]},
        ("branch", "update"),
    )
    figure = figures.mixture_steps(p, 2)
    assert [list(trace.y) for trace in figure.data] == [[0.7, 0.3, 0.5], [0.3, 0.7, 0.5]]
    assert [trace.line.color for trace in figure.data] == [COLOURS["below"], COLOURS["above"]]


def test_anchors_of_different_length_are_drawn_to_their_own_end():
    step = np.array([[50, 100, 150], [50, 100, np.nan]])
    columns = {name: (("seed", "evaluation"), step / 200) for name in ("answer_mass", "p_contextual", "margin")}
    found = xr.Dataset(columns, {"seed": [0, 1], "step": (("seed", "evaluation"), step)})
    figure = figures.anchor_convergence(found, {"answer_mass": 0.97})
    assert [len(trace.x) for trace in figure.data] == [3, 2] * 3


def test_limits_hold_points_and_zero_and_cut_wide_intervals():
    low, high = limits([0.1, 0.2], [-50.0, 60.0, np.nan])
    assert -1 < low < 0
    assert 0.2 < high < 1
    assert limits([0.1, 0.2], [[0.05, 0.25]])[1] < 0.3


def test_nothing_global_is_changed(patching_maps):
    import plotly.io as pio

    before = pio.templates.default
    figures.heatmap(patching_maps("resid_pre", "pos"))
    assert pio.templates.default == before


def test_the_table_of_names_is_true():
    for name in figures.__all__:
        assert callable(getattr(figures, name))
        with pytest.raises(ModuleNotFoundError):
            __import__(f"hyst_interp.figures.{name}")
    with pytest.raises(AttributeError, match="nothing"):
        figures.nothing  # noqa: B018
