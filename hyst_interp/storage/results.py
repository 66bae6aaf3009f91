"""Results on disk: labelled arrays as netCDF, the same bytes for the same numbers; and how single ones are joined."""

from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from hyst_interp.errors import UserError
from hyst_interp.storage.atomic import new_file
from hyst_interp.storage.run import Run

SCHEMA = "hyst-interp/results/1"


def write_results(dataset: xr.Dataset, path: Path) -> None:
    """Write a Dataset, whole or not at all; numbers compressed without loss, and checked when they are read."""
    encoding = {
        name: {"zlib": True, "complevel": 4, "shuffle": True, "fletcher32": True}
        for name, array in dataset.data_vars.items()
        if array.dtype.kind in "fiu" and array.ndim
    }
    with new_file(path) as part:
        dataset.assign_attrs(schema=SCHEMA).to_netcdf(part, engine="h5netcdf", encoding=encoding)


def read_results(path: Path) -> xr.Dataset:
    """A Dataset in memory; UserError where the file is missing, truncated, or of another schema."""
    if not path.is_file():
        raise UserError(f"results '{path}' do not exist; finish the run with 'hyst-interp reproduce --resume'.")
    try:
        dataset = xr.load_dataset(path, engine="h5netcdf", decode_times=False)
    except (OSError, ValueError, KeyError, RuntimeError) as error:  # what h5py raises for damaged files
        raise UserError(f"results '{path}' cannot be read ({error}); remove the file and resume the run.") from None
    if dataset.attrs.get("schema") != SCHEMA:
        raise UserError(f"results '{path}' have schema '{dataset.attrs.get('schema')}', expected '{SCHEMA}'.")
    return dataset


def read_all(directory: Path) -> dict[str, xr.Dataset]:
    """Every Dataset of a results directory by file name without `.nc`; UserError where there is none."""
    files = sorted(directory.glob("*.nc"))
    if not files:
        raise UserError(f"'{directory}' holds no results; finish the run with 'hyst-interp reproduce --resume'.")
    return {path.stem: read_results(path) for path in files}


def stack(parts: Sequence[xr.Dataset], dim: str, labels: Sequence) -> xr.Dataset:
    """Datasets of one form side by side along a new dimension; ValueError where their other coordinates differ."""
    joined = xr.concat(
        list(parts), dim=dim, coords="minimal", compat="override", combine_attrs="drop_conflicts", join="exact"
    )
    return joined.assign_coords({dim: list(labels)})


def anchor_evaluations(run: Run, seeds: Sequence[int]) -> xr.Dataset:
    """What the convergence criterion saw (seed, evaluation), padded with NaN; formed_at, age, last_step (seed)."""
    evaluations = [read_results(run.anchor(seed) / "convergence.nc") for seed in seeds]
    longest = max(evaluation.sizes["evaluation"] for evaluation in evaluations)
    padded = [
        evaluation.reset_coords("step").astype("float64").pad(evaluation=(0, longest - evaluation.sizes["evaluation"]))
        for evaluation in evaluations
    ]
    facts = {
        name: ("seed", [int(evaluation.attrs[attribute]) for evaluation in evaluations])
        for name, attribute in (("formed_at", "formed_at"), ("age", "age"), ("last_step", "step"))
    }
    return stack(padded, "seed", seeds).assign_coords(facts).drop_attrs(deep=False).set_coords("step")
