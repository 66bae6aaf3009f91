"""What chapters and notebooks read of a run about mean and information, made once."""

from hyst_interp.analysis.rows import Row
from hyst_interp.questions.information.summary import information_rows
from hyst_interp.report.run_results import RunResults


def information(run: RunResults) -> list[Row]:
    """Mean and input-dependent parts by estimator, with verdicts; none where they were not taken apart."""
    found = run.results.get("information")
    return [] if found is None else information_rows(found)
