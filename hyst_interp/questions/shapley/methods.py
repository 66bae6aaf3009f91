"""What every component carries of one pair's gap, on average over who moves before it.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from functools import partial
from typing import TYPE_CHECKING

import xarray as xr

from hyst_interp.analysis.histories import TWO_NETWORKS, Histories
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.analysis.summary import records
from hyst_interp.errors import UserError, refuse_unknown
from hyst_interp.questions.shapley import measure, summary
from hyst_interp.questions.shapley.games import GAMES, Game
from hyst_interp.questions.shapley.sampling import sampled_game
from hyst_interp.references import DONOR
from hyst_interp.sites import Component
from hyst_interp.streams import Stream

if TYPE_CHECKING:
    import plotly.graph_objects as go


PERMUTATIONS = 400
"""Orders of the players that are sampled where there are too many for all coalitions."""


PLAYERS = (
    Column("player", "player"),
    Column("shapley", "Shapley value"),
    Column("share", "share of the gap"),
    Column("first", "alone"),
    Column("last", "last to join"),
)


PAIRS = (Column("player_a", "one"), Column("player_b", "other"), Column("interaction", "interaction"))


def shapley(pair: Histories, game: str = DONOR.name, components: str | None = None) -> Rows:
    """Shapley values of the components: how much of the gap each carries, on average over who moves before it.

    Exact over all 2ⁿ coalitions for at most `shapley.MOST_PLAYERS` players; beyond that permutations are sampled,
    the rows have `sampling` with the interval over samples, and the last line says so. In logits; the last row is
    the sum, with the `gap` and the `rest` that no player moves. `beside["pairs"]` has the interaction of every pair
    (exact accounts alone); `found` keeps every trial.

    Args:
        game: `donor`, players come from below or from above, and everything else is a player too, so the values add
            up to the gap; or `own-mean`, players write their own mean in both networks.
        components: the players: every component of the sets, by itself (`each`, `heads`, `L0H1,L1MLP`); all by
            default.

    Raises:
        UserError: an unknown game or component; components joined by `+`, for players are single.
    """
    refuse_unknown("game", game, tuple(GAMES))
    played: Game = GAMES[game](pair.data, _players(pair, components))
    account = _account(pair, played)
    table, with_whom = summary.players(account), summary.pairs(account)
    notes = [TWO_NETWORKS]
    if "permutations" in account.attrs:
        notes.append(
            f"{len(played.players)} players are too many for all coalitions (at most {measure.MOST_PLAYERS}): sampled,"
            f" {account.attrs['permutations']} orders."
        )
    pairs = summary.pair_rows(with_whom)
    beside = {"pairs": Rows(pairs, PAIRS)} if pairs else {}
    draw = partial(of_shapley, table, with_whom if pairs else None, game)
    return Rows(records(table), PLAYERS, account, draw, beside, notes)


def _players(pair: Histories, components: str | None) -> list[Component] | None:
    if components is None:
        return None
    joined = [part.strip() for part in components.split(",") if "+" in part]
    if joined:
        raise UserError(
            f"'{joined[0]}' is one set, but players of a Shapley value are single components; write"
            f" {joined[0].replace('+', ',')}."
        )
    return sorted({member for component_set in pair.data.sets(components) for member in component_set.members})


def _account(pair: Histories, game: Game) -> xr.Dataset:
    if len(game.players) <= measure.MOST_PLAYERS:
        return measure.shapley(game)
    return sampled_game(game, Stream("resampling", pair.below.manifest.setup.seed), PERMUTATIONS)


def of_shapley(players: xr.Dataset, pairs: xr.Dataset | None, game: str, stacked: bool = False) -> "go.Figure":
    """Players as dumbbells, their pairs beside them where there are any."""
    from hyst_interp.questions.shapley.figure import shapley_dumbbells

    return shapley_dumbbells(players, pairs, game, stacked)
