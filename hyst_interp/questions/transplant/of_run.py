"""What chapters and notebooks read of a run about transplants, each made once."""

import xarray as xr

from hyst_interp.analysis.rows import Row
from hyst_interp.questions.transplant.summary import transplant_rows, transplant_table
from hyst_interp.report.run_results import RunResults


def table(run: RunResults) -> xr.Dataset | None:
    """The table of the gap's parts by updates after an optimizer transplant; None where there was no transplant."""
    moved = run.results.get("transplant")
    return None if moved is None else transplant_table(moved)


def transplanted(run: RunResults) -> list[Row]:
    """Parts of the gap by updates after an optimizer transplant; none where there was no transplant."""
    parts = run.once(table)
    return [] if parts is None else transplant_rows(parts)
