"""What chapters and notebooks read of a run about transplants, made once."""

from hyst_interp.analysis.rows import Row
from hyst_interp.questions.transplant.summary import transplant_rows
from hyst_interp.report.run_results import RunResults


def transplanted(run: RunResults) -> list[Row]:
    """Parts of the gap by updates after an optimizer transplant; none where there was no transplant."""
    found = run.results.get("transplant")
    return [] if found is None else transplant_rows(found)
