"""Heatmaps: the panels hold the array's own values, equal limits for both histories, white at 0, the paper's labels."""

import numpy as np
import pytest

from hyst_interp.errors import UserError
from hyst_interp.figures import heatmap

CASES = [("resid_pre", "pos", 0, 0), ("resid_pre", "role", 0, 0), ("result", "role", 4, 0), ("resid_pre", "pos", 0, 2)]


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_panel_is_the_array(patching_maps, case, stacked):
    array = patching_maps(*case)
    figure = heatmap(array, stacked)
    rest = [dim for dim in ("answer", "history") if dim in array.dims]
    panels = array.stack(panel=rest).transpose("panel", "layer", ..., array.dims[-1])
    assert len(figure.data) == panels.sizes["panel"]
    for trace, panel in zip(figure.data, panels, strict=True):
        np.testing.assert_array_equal(np.asarray(trace.z), panel.values.reshape(np.asarray(trace.z).shape))


def test_both_histories_share_limits_and_zero_is_white(patching_maps):
    array = patching_maps("resid_pre", "pos")
    figure = heatmap(array)
    assert [trace.coloraxis for trace in figure.data] == ["coloraxis", "coloraxis", "coloraxis2"]
    for axis, names in ((figure.layout.coloraxis, ["below", "above"]), (figure.layout.coloraxis2, ["difference"])):
        end = float(np.abs(array.sel(history=names)).max())
        assert (axis.cmin, axis.cmid, axis.cmax) == (-end, 0, end)
        assert dict(axis.colorscale)[0.5] == "#FFFFFF"


def test_limits_do_not_depend_on_which_history_is_larger(patching_maps):
    array = patching_maps("resid_pre", "pos")
    turned = array.assign_coords(history=["above", "below", "difference"])
    assert heatmap(array).layout.coloraxis.cmax == heatmap(turned).layout.coloraxis.cmax


def test_position_labels_are_the_papers(patching_maps):
    trace = heatmap(patching_maps("resid_pre", "pos")).data[0]
    assert list(trace.x) == ["k1", "v1", "k2", "v2", "k3", "v3", "q"]
    assert list(trace.y) == ["resid_pre 0", "resid_pre 1", "resid_post"]


def test_heads_are_rows(patching_maps):
    assert list(heatmap(patching_maps("result", "role", 2)).data[0].y) == ["L0H0", "L0H1", "L1H0", "L1H1"]
    assert list(heatmap(patching_maps("mlp_out", "role")).data[0].y) == ["L0MLP", "L1MLP"]


def test_headings_title_and_units_say_what_is_shown(patching_maps):
    figure = heatmap(patching_maps("result", "role", 2))
    words = " ".join(str(note.text) for note in figure.layout.annotations)
    for word in ("from below", "from above", "from below − from above", "effect (logits)", "difference (logits)"):
        assert word in words
    for word in ("head outputs", "role", "clean into corrupted", "value twin", "raw"):
        assert word in figure.layout.title.text


def test_one_history_alone_and_an_unmeasured_cell(patching_maps):
    array = patching_maps("resid_pre", "pos").sel(history=["below"])
    array[0, 0, 0] = np.nan
    figure = heatmap(array)
    assert len(figure.data) == 1
    assert figure.layout.coloraxis.cmax == float(np.abs(array).max())
    assert "coloraxis2" not in figure.to_dict()["layout"]


def test_maps_of_nothing_have_limits():
    import xarray as xr

    zeros = xr.DataArray(np.zeros((2, 3)), {"layer": [0, 1], "pos": ["k1", "v1", "q"]}, ("layer", "pos"))
    axis = heatmap(zeros).layout.coloraxis
    assert axis.cmin < 0 < axis.cmax


def test_an_array_that_is_no_map_is_refused(one_sentence, patching_maps):
    with pytest.raises(UserError) as error:
        heatmap(patching_maps("resid_pre", "pos").rename(pos="trial"))
    one_sentence(error.value, "trial", "layer")


def test_both_arrangements_have_the_same_traces(patching_maps):
    array = patching_maps("result", "role", 4)
    wide, narrow = heatmap(array), heatmap(array, stacked=True)
    assert wide.to_dict()["data"][0].keys() == narrow.to_dict()["data"][0].keys()
    assert narrow.layout.height > wide.layout.height
