"""The sentence that answers: in which component?"""

from hyst_interp.analysis.summary import cell, records
from hyst_interp.questions.shapley.of_run import games, places
from hyst_interp.questions.shapley.summary import SUM
from hyst_interp.references import DONOR
from hyst_interp.report.answers import Answer, name_carriers
from hyst_interp.report.run_results import RunResults


def answer(source: RunResults) -> Answer | None:
    """None where the donor game was not played."""
    by_place = source.once(places)
    if by_place is None:
        return None
    named = [(row["player"], row["shapley"]) for row in records(by_place)]
    gap = cell(source.once(games)[DONOR.name], player=SUM, quantity="gap")
    return name_carriers("In which component?", named, gap, "values of all players add up to the gap")
