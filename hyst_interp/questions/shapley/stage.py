"""Play out the coalitions of the components of one data order, on arrival: Shapley values."""

from pathlib import Path

import xarray as xr

from hyst_interp.config import StudyConfig
from hyst_interp.questions.shapley.games import Game, donor_game, own_mean_game
from hyst_interp.questions.shapley.measure import MOST_PLAYERS, shapley
from hyst_interp.questions.shapley.sampling import sampled_game
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.streams import Stream
from hyst_interp.study.pairs import pair_at
from hyst_interp.study.plan import Stage

GAMES = {"donor": donor_game, "own-mean": own_mean_game}


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/coalitions/shapley-GAME.nc`: dims (player, trial); pairs are means over trials."""
    pair = pair_at(study, root, stage.seed, stage.order, 0, study.localization.trials)
    with new_directory(root / stage.directory) as part:
        for name, game in GAMES.items():
            found = account_of(game(pair), Stream("resampling", stage.seed, stage.order))
            write_results(found, part / f"shapley-{name}.nc")
        write_stage(part, stage.kind, stage.digest)


def account_of(game: Game, stream: Stream) -> xr.Dataset:
    """Exact where all coalitions can be played out, else from sampled orders; float32, pairs averaged over trials."""
    exact = len(game.players) <= MOST_PLAYERS
    found = shapley(game) if exact else sampled_game(game, stream)
    for name in ("interaction", "first", "last"):
        if name in found:
            found[name] = found[name].mean("trial", keep_attrs=True)
    return found.astype("float32")
