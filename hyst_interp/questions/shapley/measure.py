"""Exact Shapley values and pairwise interactions from the values of all 2^n coalitions.

A player's Shapley value is what it adds when it joins, averaged over all orders in which the players can come in
(Shapley 1953); the values add up to v(all) − v(none), trial by trial. The interaction of two players is how much more
they add together than apart, averaged over the same orders with the pair as one (Shapley interaction index, Grabisch
and Roubens 1999, Int. J. Game Theory 28, 547).

    φ_i  = Σ_S s! (n−s−1)! / n!     · (v(S+i) − v(S))                                S without i
    I_ij = Σ_S s! (n−s−2)! / (n−1)! · (v(S+i+j) − v(S+i) − v(S+j) + v(S))            S without i and j

Beside it stand the two ends of the average: the first effect v({i}) − v(none), what a player does alone, and the last,
v(all) − v(all∖{i}), what goes with it. Their difference is the sum of everything in which the player needs company (of
the Harsanyi dividends of all larger sets that it belongs to): a player whose last effect goes further towards the gap
works together with others; one whose first effect does is stood in for. Larger sets can cancel in that sum: where the
value lies outside both ends, look at the pairs.

Differences are taken before they are weighed, so where nothing differs everything is exactly 0. All functions of tables
are linear; a table has the coalitions first, in the order of `coalitions.all_coalitions`.
"""

from collections.abc import Sequence
from math import comb

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from hyst_interp.errors import UserError
from hyst_interp.interventions.cached_sweep import cached_sweep
from hyst_interp.questions.shapley.games import Game, Player, all_coalitions
from hyst_interp.readout import chunks

MOST_PLAYERS = 16
"""2^16 coalitions of 512 trials are 256 MiB."""
Table = Float[np.ndarray, "coalition *trial"]


def shapley_values(table: Table) -> Float[np.ndarray, "player *trial"]:
    """Shapley value of every player; ValueError where the number of coalitions is no power of two."""
    n = number_of_players(table)
    return np.stack([_join(table, n, player) for player in range(n)]) if n else table[:0]


def first_effects(table: Table) -> Float[np.ndarray, "player *trial"]:
    """v({i}) − v(none) of every player."""
    return table[1 << np.arange(number_of_players(table))] - table[0]


def last_effects(table: Table) -> Float[np.ndarray, "player *trial"]:
    """v(all) − v(all∖{i}) of every player."""
    return table[-1] - table[len(table) - 1 - (1 << np.arange(number_of_players(table)))]


def interactions(table: Table) -> Float[np.ndarray, "player_a player_b *trial"]:
    """Shapley interaction index of every pair, symmetric; NaN on the diagonal, where there is no pair."""
    n = number_of_players(table)
    indices = np.full((n, n, *table.shape[1:]), np.nan)
    masks = np.arange(len(table))
    for a in range(n):
        for b in range(a + 1, n):
            without = masks[((masks >> a) & 1 == 0) & ((masks >> b) & 1 == 0)]
            with_a, with_b = without | 1 << a, without | 1 << b
            both = (table[with_a | 1 << b] - table[with_b]) - (table[with_a] - table[without])
            indices[a, b] = indices[b, a] = np.tensordot(_weights(without, n - 1), both, 1)
    return indices


def number_of_players(table: Table) -> int:
    """n of a table of 2^n coalitions; ValueError where there is none."""
    n = len(table).bit_length() - 1
    if len(table) != 1 << max(n, 0):
        raise ValueError(f"the table has {len(table)} coalitions, no power of two; give all sets of the players")
    return n


def shapley(game: Game) -> xr.Dataset:
    """The exact account of a game: all 2^n coalitions, every trial kept, no more than one chunk's table in memory.

    Returns:
        In logits, float64: `shapley`, `first`, `last` (player, trial); `interaction` (player_a, player_b, trial); the
        margins' `gap`, and `value_all`, `value_none` (trial). `answer_mass` (size, trial), a probability: the mean of
        P(contextual) + P(fixed) over the coalitions of each size.

    Raises:
        UserError: more players than `MOST_PLAYERS`.
    """
    refuse_too_many(game.players)
    n, n_trials = len(game.players), len(game.pair.trials)
    coalitions = all_coalitions(game.players)
    sizes = np.array([len(coalition) for coalition in coalitions])
    player_values = {name: np.empty((n, n_trials)) for name in ("shapley", "first", "last")}
    pairs, mass = np.empty((n, n, n_trials)), np.empty((n + 1, n_trials))
    ends = {name: np.empty(n_trials) for name in ("value_all", "value_none")}
    for part in chunks(n_trials):
        measured = game.measure(coalitions, part)
        table = measured.value
        player_values["shapley"][:, part] = shapley_values(table)
        player_values["first"][:, part], player_values["last"][:, part] = first_effects(table), last_effects(table)
        pairs[:, :, part] = interactions(table)
        ends["value_none"][part], ends["value_all"][part] = table[0], table[-1]
        for size in range(n + 1):
            mass[size, part] = measured.answer_mass[sizes == size].mean(0)
    names = [str(player) for player in game.players]
    logits = {"units": "logits"}
    arrays = account(names, player_values, ends, gap_of(game))
    arrays["interaction"] = (
        ("player_a", "player_b", "trial"),
        pairs,
        {**logits, "method": "Shapley interaction index (Grabisch and Roubens 1999), exact"},
    )
    arrays["answer_mass"] = (
        ("size", "trial"),
        mass,
        {"units": "probability", "method": "P(contextual) + P(fixed), mean over the coalitions of a size"},
    )
    coords = {"player": names, "player_a": names, "player_b": names, "size": np.arange(n + 1)}
    return xr.Dataset(arrays, coords, attrs={**game.words, "coalitions": len(coalitions), "units": "logits"})


def account(
    names: Sequence[str], found: dict[str, np.ndarray], ends: dict[str, np.ndarray], gap: np.ndarray
) -> dict[str, tuple]:
    """The variables that every account of a game has, exact or sampled."""
    methods = {
        "shapley": "Shapley value (Shapley 1953)",
        "first": "v({player}) − v(none)",
        "last": "v(all) − v(all but the player)",
        "value_all": "v(all)",
        "value_none": "v(none)",
    }
    arrays: dict[str, tuple] = {}
    for name, value in (found | ends).items():
        dims = ("player", "trial") if name in found else ("trial",)
        arrays[name] = (dims, value, {"units": "logits", "method": methods[name]})
    arrays["gap"] = (("trial",), gap, {"units": "logits", "method": "margin from below − margin from above"})
    if any(len(value) != len(names) for value in found.values()):
        raise ValueError(f"{len(names)} players are named; give one row a player")
    return arrays


def gap_of(game: Game) -> Float[np.ndarray, " trial"]:
    """The gap of the game's pair, trial by trial, in logits: by the very operations that hybrids are measured with."""
    below, above = (
        cached_sweep(model, game.pair.trials, [[]])["margin"][0].astype(np.float64)
        for model in (game.pair.below, game.pair.above)
    )
    return below - above


def refuse_too_many(players: Sequence[Player]) -> None:
    """UserError where the coalitions are too many to be played out."""
    if len(players) > MOST_PLAYERS:
        raise UserError(
            f"{len(players)} players have {2 ** len(players)} coalitions; sample permutations instead, or name at most"
            f" {MOST_PLAYERS} players."
        )


def _join(table: Table, n: int, player: int) -> np.ndarray:
    masks = np.arange(len(table))
    without = masks[(masks >> player) & 1 == 0]
    return np.tensordot(_weights(without, n), table[without | 1 << player] - table[without], 1)


def _weights(masks: Int[np.ndarray, " coalition"], places: int) -> Float[np.ndarray, " coalition"]:
    """How often, of all orders of `places` newcomers, exactly this coalition stands before a given one."""
    share = np.array([1 / (places * comb(places - 1, size)) for size in range(places)])
    return share[sum((masks >> bit) & 1 for bit in range(places + 1))]
