"""What chapters and notebooks read of a run about moved weights, made once."""

from hyst_interp.analysis.rows import Row
from hyst_interp.questions.weights.measure import move_rows
from hyst_interp.report.run_results import RunResults


def moves(run: RunResults) -> list[Row]:
    """What moving groups of weights moves; none where none were moved."""
    found = run.results.get("weights")
    return [] if found is None else move_rows(found)
