"""The sentence that answers: in which weights?"""

from hyst_interp.analysis.summary import cell
from hyst_interp.questions.weights.of_run import gap, moves
from hyst_interp.report.answers import Answer, name_carriers
from hyst_interp.report.run_results import RunResults


def answer(source: RunResults) -> Answer | None:
    """None where no weights were moved."""
    rows = source.once(moves)
    if not rows:
        return None
    named = [
        (str(row["group"]), row["logits_moved"]) for row in rows if row["level"] == "family" and row["family"] != "sum"
    ]
    return name_carriers("In which weights?", named, cell(source.once(gap)), "all weights moved are the other network")
