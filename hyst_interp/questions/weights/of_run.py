"""What chapters and notebooks read of a run about moved weights, each made once."""

import xarray as xr

from hyst_interp.analysis.exchange import whole_gap
from hyst_interp.analysis.rows import Row
from hyst_interp.questions.weights.summary import weight_rows, weight_table
from hyst_interp.report.run_results import RunResults


def table(run: RunResults) -> xr.Dataset | None:
    """The table of moved weights; None where none were moved."""
    moved = run.results.get("weights")
    return None if moved is None else weight_table(moved)


def gap(run: RunResults) -> xr.Dataset:
    """The gap of the networks whose weights were moved, a table of one cell; only where weights were moved."""
    return whole_gap(run.results["weights"])


def moves(run: RunResults) -> list[Row]:
    """What moving groups of weights moves; none where none were moved."""
    moved = run.once(table)
    return [] if moved is None else weight_rows(moved)
