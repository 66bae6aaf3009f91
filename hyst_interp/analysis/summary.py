"""The one reduction: replicates become numbers with intervals, in one table that everything else reads.

A *replicate* is a training seed where values have the dimension `seed` (a seed's value is its mean over trials, then
over data orders), and else a trial of one pair, whose interval speaks of these two networks only. `summarise` gives the
mean of the replicates with Student's t interval for every cell, `shares` the ratio of two means with Fieller's. Both
give a *table*: a Dataset with the variables of an `Estimate` for every cell. Printing, JSON, CSV, figures, and chapters
read tables; a cell of one is an Estimate (`cell`), a row of one a dictionary (`records`).

What no replicate decides, such as a binomial share or a mean correlation, stays in `statistics/`; `from_estimates`
makes a table of it.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr
from scipy.special import stdtrit

from hyst_interp.analysis.rows import Row
from hyst_interp.statistics import Estimate, ratio_of_means, undefined
from hyst_interp.statistics.intervals import ONE_PAIR

QUANTITY = "quantity"
"""Dimension of tables that hold several quantities."""
LEVEL = 0.95
NOT_MEASURED = "not measured"
"""Reason of a cell that stands in a table only because its neighbours do."""
_NUMBERS = ("estimate", "low", "high", "level")
_WORDS = ("method", "unit", "reason", "shape")
_OVER = {
    "seed": ("Student-t, values independent and normal", "seeds"),
    "trial": (f"Student-t over {ONE_PAIR}", "trials"),
}
"""Replicate → the method of its interval, and its plural."""


def per_seed(array: xr.DataArray) -> xr.DataArray:
    """A seed's value: the mean over trials, then over data orders; every other dimension stays."""
    for dim in ("trial", "order"):
        if dim in array.dims:
            array = array.mean(dim)
    return array


def replicate_of(values: xr.DataArray | xr.Dataset) -> str:
    """`seed`, or `trial` for values of one pair; ValueError for values that have neither."""
    for dim in ("seed", "trial"):
        if dim in values.dims:
            return dim
    raise ValueError(f"values have dims {tuple(map(str, values.dims))}; keep seed or trial, over which to summarise")


def replicates(values: xr.DataArray) -> xr.DataArray:
    """One value a replicate, float64: over seeds those of `per_seed`, over the trials of one pair the values."""
    wide = values.astype("float64")
    return per_seed(wide) if "seed" in values.dims else wide


def summarise(values: xr.DataArray | xr.Dataset, unit: str | None = None, level: float = LEVEL) -> xr.Dataset:
    """The table of means over replicates, with Student's t intervals, for every other cell.

    Args:
        values: dims (seed[, order][, trial], …) or (trial, …); a Dataset's variables become the dimension `quantity`.
        unit: of all values; by default each array's attribute `units`, else logits.

    Returns:
        Variables `estimate`, `low`, `high`, `level` (float), `n` (int), `method`, `unit`, `reason`, `shape` (text);
        dims as the values', without seed, order, and trial. Undefined numbers are NaN, with a reason; cells that are
        NaN for every replicate are `NOT_MEASURED`.

    Raises:
        ValueError: neither seed nor trial; NaN among the replicates of a cell, where others are numbers.
    """
    if isinstance(values, xr.Dataset):
        return join({str(name): summarise(variable, unit, level) for name, variable in values.data_vars.items()})
    dim = replicate_of(values)
    wide = replicates(values).transpose(..., dim)
    method, _ = _OVER[dim]
    array = np.ascontiguousarray(wide.values)  # sums then round as they would for one cell alone
    missing = np.isnan(array)
    absent = missing.all(-1) & (array.shape[-1] > 0)
    if (missing.any(-1) & ~absent).any():
        count = int((missing.any(-1) & ~absent).sum())
        raise ValueError(
            f"{count} cells have values for some of their {array.shape[-1]} {_OVER[dim][1]} alone; give all"
        )
    n = array.shape[-1]
    known = np.where(absent[..., None], 0.0, array)
    mean = known.mean(-1) if n else np.full(array.shape[:-1], np.nan)
    reach = np.full(mean.shape, np.nan)
    if n > 1:
        reach = stdtrit(n - 1, (1 + level) / 2) * known.std(-1, ddof=1) / np.sqrt(n)
    reason = np.full(mean.shape, "" if n > 1 else "one value has no spread: no interval" if n else "no values", object)
    reason[absent] = NOT_MEASURED
    blank = np.where(absent, np.nan, 1.0)
    ends = {"estimate": mean, "low": mean - reach, "high": mean + reach}
    word = values.attrs.get("units", "logits") if unit is None else unit
    template = wide.isel({dim: 0}, drop=True) if n else wide.sum(dim)
    return _table(
        template,
        {name: np.asarray(end * blank) for name, end in ends.items()},  # of one cell, numpy makes scalars
        level,
        np.where(absent, 0, n),
        method,
        str(word),
        reason,
    )


def shares(part: xr.DataArray | xr.Dataset, whole: xr.DataArray, unit: str = "share of the gap") -> xr.Dataset:
    """The table of mean(part) / mean(whole) over replicates, by Fieller, undefined where the whole may be 0.

    Args:
        part: dims as `summarise` takes them.
        whole: the same replicates; its other dims are among the part's.
    """
    if isinstance(part, xr.Dataset):
        return join({str(name): shares(variable, whole, unit) for name, variable in part.data_vars.items()})
    dim = replicate_of(part)
    top, bottom = xr.broadcast(replicates(part), replicates(whole))
    top = top.transpose(..., dim)
    bottom = bottom.transpose(*top.dims)
    cells = zip(top.values.reshape(-1, top.sizes[dim]), bottom.values.reshape(-1, top.sizes[dim]), strict=True)
    plural = _OVER[dim][1]
    estimates = [
        undefined(NOT_MEASURED, unit, 0) if np.isnan(a).all() else ratio_of_means(a, b, unit, over=plural)
        for a, b in cells
    ]
    return _from_flat(top.isel({dim: 0}, drop=True), estimates)


def estimate_of(values: xr.DataArray, unit: str | None = None) -> Estimate:
    """`summarise` of values that leave one cell."""
    return cell(summarise(values, unit))


def from_estimates(estimates: Sequence[Estimate], dim: str, labels: Iterable | None = None) -> xr.Dataset:
    """A table of estimates that were made elsewhere, along one dimension."""
    template = xr.DataArray(np.zeros(len(estimates)), dims=dim)
    table = _from_flat(template, list(estimates))
    return table if labels is None else table.assign_coords({dim: list(labels)})


def join(tables: Mapping[str, xr.Dataset], dim: str = QUANTITY) -> xr.Dataset:
    """Tables side by side along a dimension; where one has fewer dims than another, its cells are repeated."""
    parts = (
        xr.broadcast(*tables.values())
        if len({tuple(sorted(map(str, table.dims))) for table in tables.values()}) > 1
        else tuple(tables.values())
    )
    joined = xr.concat(
        list(parts), dim, coords="minimal", compat="override", join="exact", combine_attrs="drop_conflicts"
    )
    return joined.assign_coords({dim: list(tables)})


def cell(table: xr.Dataset, **labels: object) -> Estimate:
    """One cell of a table as an Estimate.

    Args:
        labels: dimension → label, as many as leave one cell.

    Raises:
        KeyError: a label that the table does not have.
        ValueError: labels that leave more than one cell.
    """
    selected = table.sel(labels) if labels else table
    if selected["estimate"].size != 1:
        raise ValueError(f"{selected['estimate'].size} cells are left, of dims {selected['estimate'].dims}; name one")
    return _estimate({name: selected[name].values.item() for name in (*_NUMBERS, *_WORDS, "n")})


def records(table: xr.Dataset, *dims: str) -> list[Row]:
    """Rows of a table: for every combination of labels of `dims` (all but `quantity` by default), the labels, what is
    known of the row (coordinates along its dims), and an Estimate a quantity; what was not measured is left out.

    A dimension without labels of its own, whose cells coordinates name, gives the row none.
    """
    rows = [str(dim) for dim in table["estimate"].dims if dim != QUANTITY] if not dims else list(dims)
    plain = {name: table[name].transpose(*rows, ...) for name in (*_NUMBERS, *_WORDS, "n")}
    arrays = {name: array.values for name, array in plain.items()}
    sizes = [table.sizes[dim] for dim in rows]
    labels = {dim: table[dim].values for dim in rows if dim in table.coords}
    facts = {
        str(name): coordinate
        for name, coordinate in table.coords.items()
        if name not in table.dims and coordinate.dims and set(coordinate.dims) <= set(rows)
    }
    quantities = [str(name) for name in table[QUANTITY].values] if QUANTITY in table.dims else ["estimate"]
    made = []
    for index in np.ndindex(*sizes):
        row: Row = {dim: _plain(labels[dim][i]) for dim, i in zip(rows, index, strict=True) if dim in labels}
        row |= {
            name: _plain(coordinate.values[tuple(index[rows.index(str(d))] for d in coordinate.dims)])
            for name, coordinate in facts.items()
        }
        for q, name in enumerate(quantities):
            at = (*index, q) if QUANTITY in table.dims else index
            estimate = _estimate({key: array[at] for key, array in arrays.items()})
            if estimate.reason != NOT_MEASURED:
                row[name] = estimate
        made.append(row)
    return made


def _estimate(one: Mapping[str, object]) -> Estimate:
    ends = {name: float(one[name]) for name in ("estimate", "low", "high")}  # type: ignore[arg-type]
    return Estimate(
        **{name: None if np.isnan(value) else value for name, value in ends.items()},
        level=float(one["level"]),  # type: ignore[arg-type]
        method=str(one["method"]),
        unit=str(one["unit"]),
        n=int(one["n"]),  # type: ignore[call-overload]
        reason=str(one["reason"]) or None,
        shape=str(one["shape"]),  # type: ignore[arg-type]
    )


def _plain(value: object) -> object:
    """A numpy scalar as a plain number or text."""
    return value.item() if isinstance(value, np.generic) else value


def _from_flat(template: xr.DataArray, estimates: Sequence[Estimate]) -> xr.Dataset:
    def column(name: str, kind: type | str) -> np.ndarray:
        values = [getattr(estimate, name) for estimate in estimates]
        if kind is float:
            values = [np.nan if value is None else value for value in values]
        return np.array(["" if v is None else v for v in values] if kind is object else values, dtype=kind).reshape(
            template.shape
        )

    columns = {name: column(name, float) for name in _NUMBERS} | {name: column(name, object) for name in _WORDS}
    columns["n"] = column("n", int)
    return xr.Dataset({name: (template.dims, values) for name, values in columns.items()}, template.coords)


def _table(
    template: xr.DataArray,
    numbers: Mapping[str, np.ndarray | np.floating],
    level: float,
    n: np.ndarray,
    method: str,
    unit: str,
    reason: np.ndarray,
) -> xr.Dataset:
    shape = template.shape
    columns: dict[str, np.ndarray] = {
        name: np.asarray(values, float).reshape(shape) for name, values in numbers.items()
    }
    columns |= {"level": np.full(shape, level), "n": np.broadcast_to(n, shape).astype(int)}
    columns |= {
        "method": np.full(shape, method, object),
        "unit": np.full(shape, unit, object),
        "reason": reason.reshape(shape),
        "shape": np.full(shape, "interval", object),
    }
    return xr.Dataset({name: (template.dims, values) for name, values in columns.items()}, template.coords)
