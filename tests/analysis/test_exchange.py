"""An exchange is counted once, the same for everything: against a plain loop, and where it is exact."""

import numpy as np
import xarray as xr

from hyst_interp.analysis.exchange import below_minus_above, exchanged


def some(n: int = 5) -> xr.Dataset:
    random = np.random.default_rng(2)
    coords = {"branch": ["below", "above"]}
    before = xr.DataArray(random.standard_normal((2, n)).astype("float32"), coords, ("branch", "trial"))
    after = xr.DataArray(random.standard_normal((3, 2, n)).astype("float32"), coords, ("row", "branch", "trial"))
    return xr.Dataset({"margin": before, "margin_after": after})


def test_every_number_equals_a_plain_loop() -> None:
    found = some()
    values = exchanged(found)
    before, after = found["margin"].values.astype(float), found["margin_after"].values.astype(float)
    assert values["moved"].dims == ("row", "trial")
    for trial in range(5):
        assert values["gap"].values[trial] == before[0, trial] - before[1, trial]
        for row in range(3):
            down, up = before[0, trial] - after[row, 0, trial], after[row, 1, trial] - before[1, trial]
            assert values["into_below"].values[row, trial] == down
            assert values["into_above"].values[row, trial] == up
            assert values["moved"].values[row, trial] == (down + up) / 2
            assert values["interaction"].values[row, trial] == (down - up) / 2


def test_nothing_exchanged_moves_nothing_and_everything_moves_the_gap() -> None:
    found = some()
    margin = found["margin"]
    other = margin.assign_coords(branch=["above", "below"]).sel(branch=["below", "above"])
    both = xr.concat([margin, other], "row").transpose("row", "branch", "trial")
    values = exchanged(xr.Dataset({"margin": margin, "margin_after": both}))
    assert (values["moved"].sel(row=0) == 0).all()
    assert (values["interaction"] == 0).all()
    xr.testing.assert_equal(values["moved"].sel(row=1), values["gap"])


def test_the_sides_may_stand_in_any_order() -> None:
    found = some()
    xr.testing.assert_equal(exchanged(found), exchanged(found.sel(branch=["above", "below"])))


def test_below_minus_above_has_one_direction_whatever_the_order_of_the_branches() -> None:
    margin = some()["margin"]
    expected = margin.values[0].astype(float) - margin.values[1].astype(float)
    for values in (margin, margin.isel(branch=[1, 0])):
        difference = below_minus_above(values)
        assert difference.dims == ("trial",)
        assert difference.dtype == "float64"
        assert (difference.values == expected).all()
