"""Faithfulness curves draw what they are given, a panel a twin, with the wanted share and the floor in each."""

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.summary import summarise
from hyst_interp.figures import faithfulness_curves


@pytest.mark.parametrize("stacked", [False, True])
def test_every_curve_is_its_mean_and_the_wanted_share_is_marked(stacked):
    random = np.random.default_rng(0)
    coords = {"seed": [0, 1, 2], "twin": ["value", "rename"], "branch": ["below", "above"], "size": [0, 1, 2, 3]}
    kept = summarise(xr.DataArray(random.uniform(size=(3, 2, 2, 4)), coords, tuple(coords)))
    floor = {"seed": [0, 1, 2], "twin": ["value", "rename"], "floor_size": [0, 3]}
    chance = summarise(xr.DataArray(random.uniform(size=(3, 2, 2)), floor, tuple(floor)))
    figure = faithfulness_curves(kept, chance, 0.8, stacked)
    for axis, twin in (("x", "value"), ("x2", "rename")):
        traces = {trace.name: trace for trace in figure.data if trace.xaxis == axis}
        for name, branch in (("from below", "below"), ("from above", "above")):
            np.testing.assert_allclose(traces[name].y, kept["estimate"].sel(twin=twin, branch=branch), atol=1e-4)
        np.testing.assert_allclose(traces["random rankings"].y, chance["estimate"].sel(twin=twin), atol=1e-4)
        np.testing.assert_array_equal(traces["random rankings"].x, [0, 3])
    assert [shape.y0 for shape in figure.layout.shapes] == [0.8, 0.8]
    assert {"<b>value twin</b>", "<b>rename twin</b>"} <= {note.text for note in figure.layout.annotations}
