"""The sentence that answers: in which weights?"""

from hyst_interp.analysis.exchange import exchanged
from hyst_interp.analysis.replicates import over_seeds
from hyst_interp.analysis.summary import per_seed
from hyst_interp.questions.weights.of_run import moves
from hyst_interp.report.answers import Answer, name_carriers
from hyst_interp.report.run_results import RunResults


def answer(source: RunResults) -> Answer | None:
    """None where no weights were moved."""
    rows = source.once(moves)
    if not rows:
        return None
    gap = over_seeds(per_seed(exchanged(source.results["weights"])["gap"]))
    named = [
        (str(row["group"]), row["logits_moved"]) for row in rows if row["level"] == "family" and row["family"] != "sum"
    ]
    return name_carriers("In which weights?", named, gap, "all weights moved are the other network")
