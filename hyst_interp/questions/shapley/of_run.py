"""What chapters and notebooks read of a run about Shapley values, made once."""

import xarray as xr

from hyst_interp.questions.shapley import summary
from hyst_interp.questions.shapley.games import GAMES
from hyst_interp.references import DONOR
from hyst_interp.report.run_results import RunResults


def games(run: RunResults) -> dict[str, xr.Dataset]:
    """Game → the table of its Shapley values, dims (quantity, player), of every player and their sum."""
    accounts = {game: run.results.get(f"shapley-{game}") for game in GAMES}
    return {game: summary.players(account) for game, account in accounts.items() if account is not None}


def places(run: RunResults) -> xr.Dataset | None:
    """The donor game's table by place, heads of a layer together; None where it was not played."""
    account = run.results.get(f"shapley-{DONOR.name}")
    return None if account is None else summary.places(account)
