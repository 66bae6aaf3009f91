"""What chapters and notebooks read of a run about Shapley values, made once."""

from hyst_interp.analysis.rows import Row
from hyst_interp.questions.shapley.games import GAMES
from hyst_interp.questions.shapley.summary import place_rows, shapley_rows
from hyst_interp.report.run_results import RunResults


def games(run: RunResults) -> dict[str, list[Row]]:
    """Game → its Shapley values, a row a player and one for the sum."""
    found = {game: run.results.get(f"shapley-{game}") for game in GAMES}
    return {game: shapley_rows(one) for game, one in found.items() if one is not None}


def places(run: RunResults) -> list[Row]:
    """The donor game's values by place, heads of a layer together; none where it was not played."""
    found = run.results.get("shapley-donor")
    return [] if found is None else place_rows(found)
