"""The toy's chapter and answer."""

from hyst_interp.report.answers import Answer
from hyst_interp.report.blocks import Chapter
from hyst_interp.report.run_results import RunResults


def chapter(run: RunResults) -> Chapter | None:
    """Left out where the run did not ask."""
    if "toy" not in run.results:
        return None
    return Chapter(
        "toy", "How wide do margins scatter?", "Toy", words={"width": f"{run.results['toy']['width'].mean():.6f}"}
    )


def answer(run: RunResults) -> Answer | None:
    """How wide."""
    width = f"{run.results['toy']['width'].mean():.6f}"
    return Answer("How wide do margins scatter?", width, "standard deviations", "none", "Toy: the mean is named.")
