"""Play out the coalitions of the components of one data order, on arrival: Shapley values."""

import xarray as xr

from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.questions.shapley.games import GAMES, Game
from hyst_interp.questions.shapley.measure import MOST_PLAYERS, shapley
from hyst_interp.questions.shapley.sampling import sampled_game
from hyst_interp.streams import Stream


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`shapley-GAME`: dims (player, trial); pairs are means over trials."""
    pair = inputs.pair(inputs.study.localization.trials)
    return {f"shapley-{name}": account_of(game(pair), inputs.stream) for name, game in GAMES.items()}


def account_of(game: Game, stream: Stream) -> xr.Dataset:
    """Exact where all coalitions can be played out, else from sampled orders; float32, pairs averaged over trials."""
    exact = len(game.players) <= MOST_PLAYERS
    account = shapley(game) if exact else sampled_game(game, stream)
    for name in ("interaction", "first", "last"):
        if name in account:
            account[name] = account[name].mean("trial", keep_attrs=True)
    return account.astype("float32")
