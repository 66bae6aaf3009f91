"""What chapters and notebooks read of a run about its gap, each made once."""

import xarray as xr

from hyst_interp.analysis.summary import per_seed
from hyst_interp.questions.gap.gap_phases import Phase, phases
from hyst_interp.questions.gap.measure import gap
from hyst_interp.questions.gap.relaxation import Peak, gap_curve, peak, relaxed
from hyst_interp.report.run_results import RunResults
from hyst_interp.statistics import Equivalence

PARTS = ("margin", "contextual_part", "fixed_part")


def curve(run: RunResults) -> xr.DataArray:
    """Gap (seed, position), with the study's holds in `attrs`."""
    return gap_curve(run.results["trajectory"]).assign_attrs(holds=list(run.study.holds))


def largest(run: RunResults) -> Peak:
    """Peak |gap| of the mean curve after the last update at p ≠ p0."""
    return peak(run.once(curve))


def relaxation(run: RunResults) -> Equivalence:
    """The equivalence test at the last hold."""
    return relaxed(run.once(parts)["margin"].sel(hold=run.last_hold).values, run.once(largest).gap)


def named_phases(run: RunResults) -> list[Phase]:
    """Lag, overshoot, and ring-down, as far as the mean curve has them beyond the margin of "has relaxed"."""
    return phases(run.once(curve), run.once(relaxation).margin)


def gaps(run: RunResults) -> xr.DataArray:
    """Gap (seed, order, hold)."""
    return gap(run.results["behaviour"]).mean("trial")


def parts(run: RunResults) -> dict[str, xr.DataArray]:
    """Quantity → its gap (seed, hold)."""
    return {name: per_seed(gap(run.results["behaviour"], name)) for name in PARTS}
