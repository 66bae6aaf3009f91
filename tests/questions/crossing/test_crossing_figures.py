"""Figures of information, crossings, and mechanisms draw the numbers that they are given, with 0 in the middle."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.questions.crossing.figure import crossing_map, layer_swap_steps
from hyst_interp.questions.crossing.layer_swap import depths
from hyst_interp.questions.crossing.measure import EVERYWHERE, MAPS
from hyst_interp.questions.crossing.over_time_figure import HEADINGS, over_time_course
from hyst_interp.questions.information.figure import LOOKS, PARTS, information_dots
from hyst_interp.questions.information.measure import REPLACEMENTS
from hyst_interp.questions.information.summary import DIVERGENCE, ESTIMATORS
from hyst_interp.tasks.recall import ROLES

COMPONENTS = ["L0H0", "L0MLP", "heads"]


def spread(values: np.ndarray, dims: tuple[str, ...], coords: dict) -> xr.Dataset:
    return xr.Dataset({"estimate": (dims, values), "low": (dims, values - 0.1), "high": (dims, values + 0.1)}, coords)


@pytest.fixture
def parts() -> xr.Dataset:
    dims, shape = ("quantity", "estimator", "components"), (4, 4, 3)
    coords = {"quantity": list(PARTS), "estimator": list(ESTIMATORS), "components": COMPONENTS}
    words = np.array(["trusted", "not trusted", "trusted"] * 4).reshape(4, 3)
    reasons = np.array(["", "the remainder is large", ""] * 4).reshape(4, 3)
    return spread(np.arange(48.0).reshape(shape) / 50, dims, coords).assign(
        verdict=(dims[1:], words), failure=(dims[1:], reasons)
    )


@pytest.fixture
def distances() -> xr.Dataset:
    names = ["divergence", "mass_lost", "stream_change"]
    values = 10.0 ** np.linspace(-8, 0.5, 3 * 7 * 3).reshape(3, 7, 3)
    values[0, 0, 0] = 0.0
    coords = {"quantity": names, "replacement": list(REPLACEMENTS), "components": COMPONENTS}
    return spread(values, ("quantity", "replacement", "components"), coords)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("estimator", ["parts moved", "own and other"])
def test_parts_of_the_chosen_estimator_distances_and_verdicts_are_drawn(parts, distances, estimator, stacked):
    figure = information_dots(parts, distances, estimator, stacked)
    traces = {(trace.name, trace.xaxis): trace for trace in figure.data}
    for quantity, (label, *_) in PARTS.items():
        expected = parts["estimate"].sel(quantity=quantity, estimator=estimator)
        np.testing.assert_array_equal(traces[label, "x"].x, expected)
    for replacement, (label, *_) in LOOKS.items():
        expected = distances["estimate"].sel(quantity="divergence", replacement=replacement).values
        np.testing.assert_array_equal(np.array(traces[label, "x2"].customdata)[:, 0], expected)
        assert (np.array(traces[label, "x2"].x) > 0).all()
    for name in ESTIMATORS:
        marks = traces[name, "x3"]
        assert list(marks.marker.symbol) == ["circle", "circle-open", "circle"]
        assert "the remainder is large" in marks.text[1]
    assert any(shape.x0 == DIVERGENCE for shape in figure.layout.shapes)
    assert estimator in figure.layout.title.text


@pytest.fixture
def cells() -> xr.Dataset:
    names = [*MAPS, "moved"]
    values = np.random.default_rng(1).normal(size=(4, 2, 3, len(ROLES) + 1))
    coords = {"effect": names, "layer": [0, 1], "head": [0, 1, 2], "role": [*ROLES, EVERYWHERE]}
    attrs = {"site": "result", "gap": "+0.20 [+0.1, +0.3]"}
    return spread(values, ("effect", "layer", "head", "role"), coords).assign_attrs(attrs)


@pytest.mark.parametrize("stacked", [False, True])
def test_maps_hold_the_cells_and_white_is_0(cells, stacked):
    figure = crossing_map(cells, stacked)
    assert len(figure.data) == 3
    for trace, name in zip(figure.data, MAPS, strict=True):
        np.testing.assert_array_equal(np.array(trace.z), cells["estimate"].sel(effect=name).values.reshape(6, -1))
        assert name in trace.name
        assert list(trace.x) == [*ROLES, EVERYWHERE]
    for axis in (figure.layout.coloraxis, figure.layout.coloraxis2):
        assert axis.cmid == 0
        assert axis.cmin == -axis.cmax
    headings = [note.text for note in figure.layout.annotations]
    for name in MAPS:
        assert any(text.startswith(f"<b>{name}") for text in headings)
    assert "asymmetry (logits)" in headings
    assert "+0.20" in figure.layout.title.text
    assert figure.data[0].coloraxis == figure.data[1].coloraxis != figure.data[2].coloraxis


@pytest.mark.parametrize("stacked", [False, True])
def test_a_swap_draws_every_depth_both_directions_and_the_gap(stacked):
    names = ["into_below", "into_above", "moved", "added_into_below", "added_into_above", "added"]
    steps = depths(2, True)
    table = spread(
        np.random.default_rng(2).normal(size=(6, len(steps))),
        ("quantity", "rung"),
        {"quantity": names, "rung": list(steps)},
    )
    gap = spread(np.array(0.7), (), {})
    figure = layer_swap_steps(table, gap, stacked)
    for panel, prefix in (("x", ""), ("x2", "added_")):
        for label, quantity in (("from above into below", "into_below"), ("from below into above", "into_above")):
            (trace,) = [one for one in figure.data if one.name == label and one.xaxis == panel]
            np.testing.assert_array_equal(trace.y, table["estimate"].sel(quantity=f"{prefix}{quantity}"))
            assert list(trace.text) == list(steps)
        (mean,) = [one for one in figure.data if one.name == "mean of both, with interval" and one.xaxis == panel]
        np.testing.assert_array_equal(mean.y, table["estimate"].sel(quantity="added" if prefix else "moved"))
    assert any(shape.y0 == 0.7 for shape in figure.layout.shapes)
    assert list(figure.layout.xaxis.ticktext) == list(steps)


@pytest.mark.parametrize("stacked", [False, True])
def test_mechanisms_stand_beside_the_behaviour_by_both_measures(stacked):
    quantities = ["behaviour", "moved", "behaviour_left", "moved_left", "difference"]
    mechanisms, positions = ["heads", "mlps", "all", "resid_pre 0", "resid_post"], [10, 20, 40]
    dims = ("quantity", "measure", "mechanism", "position")
    coords = {"quantity": quantities, "measure": ["mean", "rms"], "mechanism": mechanisms, "position": positions}
    course = spread(np.random.default_rng(3).normal(size=(5, 2, 5, 3)), dims, coords)
    words = np.full((2, 5, 3), "undetermined", dtype="<U12")
    words[:, :, 0], words[:, 0, 1] = "arrival", "later"
    course = course.assign(verdict=(dims[1:], words))
    shown = ("heads", "mlps", "resid_post", "not there")
    figure = over_time_course(course, shown, stacked)
    panels = [(measure, share) for share in (False, True) for measure in HEADINGS]
    for index, (measure, share) in enumerate(panels):
        axis = "x" if index == 0 else f"x{index + 1}"
        here = {trace.name: trace for trace in figure.data if trace.xaxis == axis and trace.mode == "lines+markers"}
        assert set(here) == {"behaviour", "heads", "mlps", "resid_post"}
        one = course["estimate"].sel(measure=measure)
        for name in ("heads", "resid_post"):
            expected = one.sel(quantity="moved_left" if share else "moved", mechanism=name)
            np.testing.assert_array_equal(here[name].y, expected)
        expected = one.sel(quantity="behaviour_left" if share else "behaviour").isel(mechanism=0)
        np.testing.assert_array_equal(here["behaviour"].y, expected)
        colours = list(here["heads"].marker.color)
        if share:
            assert colours[0] == colours[2] != colours[1] == here["heads"].line.color
        else:
            assert len(set(colours)) == 1
