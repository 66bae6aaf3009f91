"""The sentence that answers: on which edges?"""

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.replicates import over_seeds
from hyst_interp.analysis.summary import per_seed
from hyst_interp.questions.edges.of_run import edge_kinds
from hyst_interp.report.answers import Answer, name_carriers
from hyst_interp.report.run_results import RunResults


def answer(source: RunResults) -> Answer | None:
    """None where no edges were patched."""
    kinds = source.once(edge_kinds)
    if not kinds:
        return None
    gap = over_seeds(per_seed(logits_moved(source.results["routes-gap"])["gap"]))
    named = [(str(row["kind"]), row["moved"]) for row in kinds]
    return name_carriers("On which route?", named, gap, "all edges patched are the donor’s run")
