"""What chapters and notebooks read of a run about mean and information, made once."""

import xarray as xr

from hyst_interp.questions.information.summary import by_estimator
from hyst_interp.report.run_results import RunResults


def information(run: RunResults) -> xr.Dataset | None:
    """The table of parts by estimator, with verdicts; None where components were not taken apart."""
    measured = run.results.get("information")
    return None if measured is None else by_estimator(measured)
