"""Shapley values of games too large for all coalitions: random orders of the players, with their standard errors.

In one order every player adds something to those before it; the mean over orders is its Shapley value, without bias
(Castro, Gómez and Tejada 2009). Whatever the number of orders, the values add up to v(all) − v(none) exactly. An
antithetic sample is an order and its reverse (Mitchell et al. 2022, JMLR 23, 43): who came first comes last, which
takes most of the spread where interactions are between pairs; for a game of pairs alone it leaves none.

One sample is one independent draw: standard errors are over samples, never over the two orders of one. First and last
effects need no sampling and are exact. Pairs are not sampled: `shapley` has them where all coalitions can be played.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float

from hyst_interp.errors import UserError
from hyst_interp.questions.shapley.games import (
    AT_ONCE,
    Coalition,
    Game,
    Player,
    Remembered,
    ValueFunction,
    remembering,
    value_function,
)
from hyst_interp.questions.shapley.measure import account, gap_of
from hyst_interp.readout import chunks
from hyst_interp.streams import Stream


def sampled_shapley(
    value: ValueFunction,
    players: Sequence[Player],
    stream: Stream,
    permutations: int = 200,
    antithetic: bool = True,
    gap: Float[np.ndarray, " trial"] | None = None,
) -> xr.Dataset:
    """Estimated Shapley values of any value function. Costs about (players − 1) values a permutation.

    Sample k depends on the stream and k alone, so more permutations go on from fewer.

    Args:
        value: any value function; the same trials for every coalition.
        stream: where the orders come from; role `resampling`.
        permutations: orders played, both of an antithetic sample counted.
        antithetic: whether every order is followed by its reverse.
        gap: the pair's gap, trial by trial; v(all) − v(none) where it is left out.

    Returns:
        `shapley` (player, trial), the mean over samples; `first`, `last`, `gap`, `value_all`, `value_none` as in
        `shapley.shapley`; `sample_mean` (sample, player), every sample's value averaged over trials, and
        `standard_error` (player) over samples. In logits.

    Raises:
        UserError: no or repeated players; permutations that make fewer than two samples, or half a one.
    """
    samples = _samples(players, permutations, antithetic)
    known, n = remembering(value), len(players)
    everybody: Coalition = frozenset(players)
    singles = [frozenset([player]) for player in players]
    edges = known.many([frozenset(), everybody, *singles, *(everybody - single for single in singles)])
    none, whole = edges[0], edges[1]
    total = np.zeros((n, edges.shape[1]))
    means = np.empty((samples, n))
    each = 2 if antithetic else 1
    for block in chunks(samples, max(1, AT_ONCE // (each * (n + 1)))):
        firsts = [stream.generator(sample).permutation(n) for sample in range(block.start, block.stop)]
        orders = [order for first in firsts for order in (first, first[::-1])[:each]]
        added = _added(known, players, orders).reshape(len(firsts), each, n, -1).mean(1)
        total += added.sum(0)
        means[block] = added.mean(-1)
    player_values = {"shapley": total / samples, "first": edges[2 : n + 2] - none, "last": whole - edges[n + 2 :]}
    names = [str(player) for player in players]
    ends = {"value_all": whole, "value_none": none}
    arrays = account(names, player_values, ends, whole - none if gap is None else gap)
    error = means.std(0, ddof=1) / np.sqrt(samples)
    arrays["sample_mean"] = (
        ("sample", "player"),
        means,
        {"units": "logits", "method": "mean over trials of what a player adds, one sample of orders"},
    )
    arrays["standard_error"] = (
        ("player",),
        error,
        {"units": "logits", "method": "standard deviation over samples / √samples"},
    )
    attrs = {"permutations": permutations, "antithetic": int(antithetic), "stream": stream.name, "units": "logits"}
    return xr.Dataset(arrays, {"player": names}, attrs)


def sampled_game(game: Game, stream: Stream, permutations: int = 200, antithetic: bool = True) -> xr.Dataset:
    """`sampled_shapley` of a pair's game, with the pair's gap."""
    _samples(game.players, permutations, antithetic)
    sampled = sampled_shapley(value_function(game), game.players, stream, permutations, antithetic, gap_of(game))
    return sampled.assign_attrs(game.words)


def _samples(players: Sequence[Player], permutations: int, antithetic: bool) -> int:
    """The number of independent samples; refusals come before any work."""
    if not players or len(set(players)) != len(players):
        raise UserError(f"players are {', '.join(map(str, players)) or 'nobody'}; name at least one, and each once.")
    each = 2 if antithetic else 1
    if permutations < 2 * each or permutations % each:
        kind = "an even number from 4 on (each order comes with its reverse)" if antithetic else "2 or more"
        raise UserError(f"permutations is {permutations}, which gives no standard error; use {kind}.")
    return permutations // each


def _added(
    known: Remembered, players: Sequence[Player], orders: Sequence[np.ndarray]
) -> Float[np.ndarray, "order player trial"]:
    """What every player adds to those before it, in every order."""
    before: list[Coalition] = []
    for order in orders:
        before.append(frozenset())
        for index in order:
            before.append(before[-1] | {players[index]})
    steps = np.diff(known.many(before).reshape(len(orders), len(players) + 1, -1), axis=1)
    added = np.empty_like(steps)
    for row, order in enumerate(orders):
        added[row, order] = steps[row]
    return added
