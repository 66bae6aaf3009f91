"""Bands: a number a seed, at every cell of a labelled array, becomes an estimate with its interval over seeds.

For tables an `Estimate` a cell, for figures the same numbers as labelled arrays. Student's t is the one interval used,
and each result says so. Nothing is averaged over trials or data orders here: `relaxation.per_seed` does that.
"""

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import per_seed
from hyst_interp.statistics import Estimate, student_t

ENDS = ("estimate", "low", "high")


def over_seeds(values: xr.DataArray, unit: str = "logits") -> Estimate:
    """Student's t interval of a one-dimensional array (seed,); ValueError for other dims."""
    if values.dims != ("seed",):
        raise ValueError(f"values have dims {values.dims}; give one number a seed")
    return student_t(values.values.astype(np.float64), unit)


def band(values: xr.DataArray) -> xr.Dataset:
    """`estimate`, `low`, `high` over `seed` for every other cell; ends are NaN where there is no interval."""
    cells = values.astype("float64").transpose(..., "seed")
    unit = str(values.attrs.get("units", "logits"))
    found = [student_t(row, unit) for row in cells.values.reshape(-1, cells.sizes["seed"])]
    template = cells.isel(seed=0, drop=True)
    columns = {
        name: template.copy(data=np.array([_number(getattr(one, name)) for one in found]).reshape(template.shape))
        for name in ENDS
    }
    return xr.Dataset(columns).assign_attrs(_attrs(found[0]))


def as_arrays(estimates: list[Estimate], dim: str) -> xr.Dataset:
    """Estimates as a Dataset with variables `estimate`, `low`, `high`; what is undefined is NaN, for drawing only."""
    columns = {name: (dim, np.array([_number(getattr(one, name)) for one in estimates])) for name in ENDS}
    return xr.Dataset(columns, attrs=_attrs(estimates[0]))


def _attrs(first: Estimate) -> dict[str, str | float | int]:
    return {"units": first.unit, "method": first.method, "level": first.level, "n": first.n}


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def per_seed_dataset(found: xr.Dataset) -> xr.Dataset:
    """`relaxation.per_seed` of every variable, dims (seed, …)."""
    return xr.Dataset({name: per_seed(array) for name, array in found.data_vars.items()})


def bare(one: Estimate) -> xr.Dataset:
    """One estimate for a figure: `estimate`, `low`, `high`, without dims."""
    return as_arrays([one], "cell").isel(cell=0)
