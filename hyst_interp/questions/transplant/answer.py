"""The sentence that answers: in the optimizer, or in the weights?"""

from collections.abc import Sequence

from hyst_interp.analysis.rows import Row
from hyst_interp.questions.transplant.of_run import transplanted
from hyst_interp.report.answers import UNDETERMINED, Answer
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import estimate
from hyst_interp.statistics import Estimate
from hyst_interp.verdicts import Verdict

QUESTION = "In the optimizer, or in the weights?"
CONTROL = "all cells of one history agree at 0 updates"
RULE = (
    "Optimizer or weights: the larger part is named where the interval of the weights’ share of the gap lies wholly on"
    " one side of one half."
)


def decisive(rows: Sequence[Row]) -> Row | None:
    """The row after 0 updates with the largest |gap| among those whose gap leaves out 0; None where none does."""
    after = [row for row in rows if row["updates"] != 0 and row["gap"].excludes(0)]
    return max(after, key=lambda row: abs(row["gap"].estimate or 0.0), default=None)


def larger_part(share: Estimate) -> str:
    """Which of two parts that add up to the gap is the larger, from the weights' share of it."""
    if share.estimate is None or share.low is None or share.high is None:
        return UNDETERMINED
    if share.low > 0.5:
        return Verdict.MOSTLY_WEIGHTS
    return Verdict.MOSTLY_OPTIMIZER if share.high < 0.5 else UNDETERMINED


def answer(source: RunResults) -> Answer | None:
    """None where no optimizer state was transplanted."""
    rows = source.once(transplanted)
    if not rows:
        return None
    row = decisive(rows)
    if row is None:
        last = rows[-1]
        words = f"after {last['updates']} updates the gap is {estimate(last['gap'])} logits, and may be 0"
        return Answer(QUESTION, UNDETERMINED, words, CONTROL, RULE)
    words = (
        f"of the gap of {estimate(row['gap'])} logits after {row['updates']} update"
        f"{'s' if row['updates'] != 1 else ''} at p0, weights carry {estimate(row['weights'])}, optimizer"
        f" states {estimate(row['optimizer'])}"
    )
    return Answer(QUESTION, larger_part(row["weights_share"]), words, CONTROL, RULE)
