"""Keys, circuit and gain, direct terms, attention, and named phases: figures draw what they are given."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp import figures
from hyst_interp.analysis.summary import from_estimates, join, summarise
from hyst_interp.questions.gap.gap_phases import phases
from hyst_interp.statistics import student_t, undefined


def named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


@pytest.mark.parametrize("stacked", [False, True])
def test_every_key_of_every_seed_is_a_dot_and_its_mean_a_diamond(stacked):
    values = np.array([[0.1, 0.3, -0.2], [0.2, np.nan, 0.4]])
    gaps = xr.DataArray(values, {"seed": [3, 7], "key": [0, 1, 2]}, ("seed", "key"))
    figure = figures.gap_by_key(gaps, stacked)
    assert [list(trace.y) for trace in named(figure, "one key")] == [[-0.2, 0.1, 0.3], [0.2, 0.4]]
    assert [list(trace.text) for trace in named(figure, "one key")][1] == ["key 0", "key 2"]
    assert [trace.y[0] for trace in named(figure, "mean over keys")] == pytest.approx([0.2 / 3, 0.3])
    assert list(figure.layout.xaxis.ticktext) == ["3", "7"]


def plane(blind: float | None = 0.05):
    kinds = ["histories", "ceiling", "floor"]
    unlike = np.array([[[1e-3, np.nan]] * 2, [[1e-4, 2e-4]] * 2, [[0.1, 0.2]] * 2])
    gain = np.array([[[1.1, np.nan]] * 2, [[1.0, 0.99]] * 2, [[3.0, 0.5]] * 2])
    dims = ("kind", "seed", "comparison")
    points = xr.Dataset({"unlike": (dims, unlike), "gain": (dims, gain)}, {"kind": kinds, "seed": [0, 1]})
    points.attrs.update(site="result")
    mean = student_t(np.array([1.09, 1.11]), "ratio")
    return [points] * 2, [mean] * 2, [blind, None]


@pytest.mark.parametrize("stacked", [False, True])
def test_circuit_up_gain_across_and_what_could_not_be_seen(stacked):
    figure = figures.circuit_and_gain(*plane(), stacked)
    histories = named(figure, "from below against from above")
    assert [list(trace.x) for trace in histories] == [[1.1, 1.1]] * 2
    assert [list(trace.y) for trace in histories] == [[1e-3, 1e-3]] * 2
    strips = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert [(one.x0, one.x1, one.xref) for one in strips] == [(0.95, 1.05, "x")]
    low, high = figure.layout.xaxis.range
    assert low < 0.95
    assert high > 1.1
    foot, head = figure.layout.yaxis.range  # reversed: the most alike stands at the head
    assert foot > np.log10(0.2)
    assert head < -4
    assert named(figure, "mean gain of the histories, with interval")[0].x[0] == pytest.approx(1.1)


def test_a_gain_without_interval_is_a_diamond_alone():
    points, _, unseen = plane(None)
    nothing = undefined("planted", "ratio", 0)
    figure = figures.circuit_and_gain(points, [nothing] * 2, unseen)
    assert not [shape for shape in figure.layout.shapes if shape.type == "rect"]


@pytest.fixture
def forest():
    names = ["embed", "L0H0", "L1MLP"]
    found = [student_t(np.array(pair), "logits") for pair in ([0.1, 0.12], [-0.2, -0.24], [0.5, 0.52])]
    tables = {"sum": from_estimates(found, "term", names)}
    for part, values in {"activation": [0.1, -0.3, 0.5], "scale": [0.01, 0.08, 0.01]}.items():
        tables[part] = from_estimates([student_t(np.array([value] * 2), "logits") for value in values], "term", names)
    causal = np.array([[np.nan, 0.3, 0.4], [np.nan, np.nan, 0.45]])
    columns = {name: (("reference", "term"), causal) for name in ("estimate", "low", "high")}
    moved = xr.Dataset(columns, {"reference": ["own-mean", "donor"], "term": names})
    return join(tables, "part"), moved


@pytest.mark.parametrize("stacked", [False, True])
def test_parts_stack_to_the_term_and_replacements_stand_beside(forest, stacked):
    table, moved = forest
    figure = figures.direct_forest(table, moved, stacked)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    np.testing.assert_allclose(np.sum([bar.x for bar in bars], axis=0), table["estimate"].sel(part="sum"), atol=1e-9)
    assert figure.layout.barmode == "relative"
    own, donor = named(figure, "own-mean")[0], named(figure, "donor")[0]
    assert (list(own.text), list(own.x)) == (["L0H0", "L1MLP"], [0.3, 0.4])
    assert (list(donor.text), list(donor.x)) == (["L1MLP"], [0.45])
    assert own.xaxis == donor.xaxis == "x2"
    assert list(figure.layout.xaxis.range) == list(figure.layout.xaxis2.range)


def test_terms_alone_are_one_panel(forest):
    figure = figures.direct_forest(forest[0].sel(part=["sum"]), None)
    assert {trace.xaxis for trace in figure.data} <= {"x", None}


@pytest.mark.parametrize("stacked", [False, True])
def test_phases_are_shaded_and_named(planted_curve, stacked):
    found = phases(planted_curve, 0.02)
    assert [one.name for one in found] == ["lag", "overshoot"]
    figure = figures.gap_course(planted_curve, summarise(planted_curve), stacked, found)
    texts = {note.text: note.x for note in figure.layout.annotations}
    shades = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    for one, shade in zip(found, shades, strict=True):
        assert shade.x0 < texts[f"<b>{one.name}</b>"] < shade.x1
        assert shade.xref == "x2"


def test_attention_has_its_own_title_and_a_scale_from_zero(patching_maps):
    array = abs(patching_maps("result", "role", 4)) / 10
    titled = array.assign_attrs(site="pattern", title="Attention", quantity="attention", from_zero=1, units="share")
    figure = figures.heatmap(titled)
    assert figure.layout.title.text == "Attention"
    assert figure.layout.coloraxis.cmin == 0
    assert figure.layout.coloraxis.colorbar.tickvals[0] == 0
    assert figure.layout.coloraxis2.cmin < 0
    assert any(note.text == "attention (share)" for note in figure.layout.annotations)
