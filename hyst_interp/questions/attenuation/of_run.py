"""What chapters and notebooks read of a run about replacements, made once."""

from dataclasses import dataclass

import xarray as xr

from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import records
from hyst_interp.questions.attenuation.summary import gap_before, replacements
from hyst_interp.report.run_results import RunResults
from hyst_interp.statistics import Estimate


@dataclass(frozen=True)
class Replaced:
    """What replacing components did at one hold."""

    gap: Estimate
    table: xr.Dataset
    """`summary.replacements`."""
    rows: list[Row]
    """Its rows."""


def replaced(run: RunResults) -> dict[int, Replaced]:
    """Hold → replacements."""
    measured = {hold: run.results.get(f"attenuation-hold-{hold:03d}") for hold in run.study.holds}
    return {hold: _replaced(attenuated) for hold, attenuated in measured.items() if attenuated is not None}


def _replaced(attenuated: xr.Dataset) -> Replaced:
    table = replacements(attenuated)
    return Replaced(gap_before(attenuated), table, records(table))
