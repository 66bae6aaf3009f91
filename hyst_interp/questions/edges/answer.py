"""The sentence that answers: on which edges?"""

from hyst_interp.analysis.summary import cell
from hyst_interp.questions.edges.of_run import edge_kinds, gap
from hyst_interp.report.answers import Answer, name_carriers
from hyst_interp.report.run_results import RunResults


def answer(source: RunResults) -> Answer | None:
    """None where no edges were patched."""
    kinds = source.once(edge_kinds)
    if not kinds:
        return None
    named = [(str(row["kind"]), row["moved"]) for row in kinds]
    return name_carriers("On which edges?", named, cell(source.once(gap)), "all edges patched are the donor’s run")
