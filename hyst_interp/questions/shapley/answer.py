"""The sentence that answers: in which component?"""

from hyst_interp.questions.shapley.of_run import games, places
from hyst_interp.report.answers import Answer, name_carriers
from hyst_interp.report.run_results import RunResults


def answer(source: RunResults) -> Answer | None:
    """None where the donor game was not played."""
    if not source.once(places):
        return None
    named = [(str(row["player"]), row["shapley"]) for row in source.once(places)]
    gap = source.once(games)["donor"][-1]["gap"]
    return name_carriers("In which component?", named, gap, "values of all players add up to the gap")
