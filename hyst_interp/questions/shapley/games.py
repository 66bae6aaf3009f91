"""Coalitions of components: who comes from which history, and what a coalition is worth.

A *game* gives every set of players a value on every trial, in logits, at the query. Players are heads and MLPs and, in
the donor game, *everything else*: embeddings, earlier keys and values, LayerNorms, biases, the unembedding, and every
component that is no player of its own.

Donor game. v(S) is the margin of the hybrid in which the players of S come from the history from below, all others from
the history from above. Everything else decides whose network is run, the host. The host's own players are computed by
it, and so answer to what stands before them; those of the other history are put in as they write at the query in that
history's own run on the same trial. So v(all) is the margin from below and v(none) that from above, exactly. One game
covers both directions: with the histories exchanged the value is v'(S) = v(all ∖ S), whose Shapley values are the same
with the other sign, and so is the gap; shares of the gap and interactions are the same, first and last effects change
places.

Own-mean game. v(S) is what the gap loses when the players of S write their own mean in both networks: v(none) = 0, and
v(all) is not the gap, for there is no mean of everything else.

This module plays the games. Who deserves what is `shapley`'s to say.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import total_ordering
from typing import Protocol, runtime_checkable

import numpy as np
import xarray as xr
from jaxtyping import Float

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.errors import UserError
from hyst_interp.interventions.cached_run import CachedRun
from hyst_interp.interventions.edit import Reference
from hyst_interp.interventions.references import Means, edits_for, means, own_mean, query_only
from hyst_interp.readout import chunks
from hyst_interp.references import DONOR, OWN_MEAN
from hyst_interp.sites import Component, components

AT_ONCE = 1024
"""Coalitions that one sweep takes; its results are 28 bytes a coalition and trial."""


@total_ordering
@dataclass(frozen=True)
class Remainder:
    """Everything that is no component with a place of its own at the table; it sorts last."""

    def __str__(self) -> str:
        return "everything else"

    def __lt__(self, other: object) -> bool:
        return False if isinstance(other, Component | Remainder) else NotImplemented


EVERYTHING_ELSE = Remainder()
Player = Component | Remainder
Coalition = frozenset[Player]
ValueFunction = Callable[[Coalition], xr.DataArray]
"""A set of players → its value, dims (trial,), in logits."""


@dataclass(frozen=True)
class Measured:
    """What coalitions are worth, and how far the networks that say so are from answering at all."""

    value: Float[np.ndarray, "coalition trial"]
    """In logits, float64."""
    answer_mass: Float[np.ndarray, "coalition trial"]
    """P(contextual) + P(fixed); the mean of both networks where two are changed."""


@runtime_checkable
class Game(Protocol):
    """Players, and what their coalitions are worth on the trials of a pair."""

    @property
    def players(self) -> tuple[Player, ...]:
        """In order; player i is bit i of a coalition's mask."""
        ...

    @property
    def pair(self) -> PairData:
        """The two networks and their trials."""
        ...

    @property
    def words(self) -> dict[str, str]:
        """`game`, its name, and `method`, one sentence on what a value is."""
        ...

    def measure(self, coalitions: Sequence[Coalition], part: slice) -> Measured:
        """The coalitions' values on a slice of the trials."""
        ...


@dataclass(frozen=True)
class DonorGame:
    """Hybrids of the two histories; made by `donor_game`."""

    pair: PairData
    players: tuple[Player, ...]

    @property
    def words(self) -> dict[str, str]:
        """Name and method."""
        return {
            "game": DONOR.name,
            "method": "margin of the hybrid whose players in S come from below, others from above",
        }

    def measure(self, coalitions: Sequence[Coalition], part: slice) -> Measured:
        """The hybrids' margins; the members of a coalition have to be players."""
        trials, members = self.pair.trials.take(part), _components(self.players)
        value, mass = (np.empty((len(coalitions), len(trials))) for _ in range(2))
        below, above = (CachedRun(model, trials) for model in (self.pair.below, self.pair.above))
        for host, other, is_below in ((below, above, True), (above, below, False)):
            hosted = [i for i, coalition in enumerate(coalitions) if (EVERYTHING_ELSE in coalition) == is_below]
            if not hosted:
                continue
            replaced = [members - coalitions[i] if is_below else _components(coalitions[i]) for i in hosted]
            written = other.written(members, at_query=True)
            references = {c: Reference(output, per_trial=True, frame="stream") for c, output in written.items()}
            value[hosted], mass[hosted] = _margins(host, replaced, references)
        return Measured(value, mass)


@dataclass(frozen=True)
class OwnMeanGame:
    """Outputs replaced by their own means in both networks; made by `own_mean_game`."""

    pair: PairData
    players: tuple[Player, ...]
    below: Means
    above: Means

    @property
    def words(self) -> dict[str, str]:
        """Name and method."""
        return {
            "game": OWN_MEAN.name,
            "method": "gap − gap with the players in S replaced by own means in both networks",
        }

    def measure(self, coalitions: Sequence[Coalition], part: slice) -> Measured:
        """Logits of the gap that the coalitions move; the members of a coalition have to be players."""
        trials, members = self.pair.trials.take(part), _components(self.players)
        sets = [_components(coalition) for coalition in coalitions]
        value, mass = (np.zeros((len(coalitions), len(trials))) for _ in range(2))
        sides = ((self.pair.below, self.below, 1), (self.pair.above, self.above, -1))
        for model, averages, sign in sides:
            references = {c: own_mean(c, averages) for c in members}
            margins, masses = _margins(CachedRun(model, trials), [frozenset(), *sets], references)
            value += sign * (margins[0] - margins[1:])
            mass += masses[1:] / 2
        return Measured(value, mass)


def donor_game(pair: PairData, members: Iterable[Component] | None = None) -> DonorGame:
    """The donor game of a pair: `members` (default: every head and MLP) and everything else.

    Raises:
        UserError: networks of different shapes; a member that they do not have.
    """
    return DonorGame(pair, (*_members(pair, members), EVERYTHING_ELSE))


def own_mean_game(pair: PairData, members: Iterable[Component] | None = None) -> OwnMeanGame:
    """The own-mean game of a pair, means over its `inputs`; `members` as in `donor_game`, all else left as it is.

    Raises:
        UserError: networks of different shapes; a member that they do not have.
    """
    players = _members(pair, members)
    below, above = (means(model, pair.inputs, players, at_query=True) for model in (pair.below, pair.above))
    return OwnMeanGame(pair, players, below, above)


def all_coalitions(players: Sequence[Player]) -> list[Coalition]:
    """All 2^n sets of players; number m holds player i where bit i of m is set, so nobody is first and all are last."""
    coalitions: list[Coalition] = [frozenset()]
    for player in players:
        coalitions.extend([coalition | {player} for coalition in coalitions])
    return coalitions


def values(game: Game, coalitions: Sequence[Coalition]) -> Float[np.ndarray, "coalition trial"]:
    """The coalitions' values on every trial, in logits, float64; the trials are taken chunk by chunk.

    Raises:
        UserError: a coalition with somebody who is no player.
    """
    check_players(game.players, coalitions)
    n_trials = len(game.pair.trials)
    coalition_values = np.empty((len(coalitions), n_trials))
    for part in chunks(n_trials):
        coalition_values[:, part] = game.measure(coalitions, part).value
    return coalition_values


class Remembered:
    """A value function that asks for nothing twice, and for many coalitions together where it can.

    It keeps at most `limit` bytes and then forgets what it has known longest.
    """

    def __init__(
        self,
        evaluate: Callable[[Sequence[Coalition]], Float[np.ndarray, "coalition trial"]],
        limit: int = 256 * 2**20,
    ) -> None:
        self._evaluate, self._limit = evaluate, limit
        self._known: dict[Coalition, np.ndarray] = {}

    def __call__(self, coalition: Coalition) -> xr.DataArray:
        """The coalition's value, dims (trial,)."""
        return xr.DataArray(self.many([coalition])[0], dims="trial", attrs={"units": "logits"})

    def many(self, coalitions: Sequence[Coalition]) -> Float[np.ndarray, "coalition trial"]:
        """The values of several coalitions; those not yet known are evaluated together."""
        unknown = [coalition for coalition in dict.fromkeys(coalitions) if coalition not in self._known]
        if unknown:
            self._known |= dict(zip(unknown, self._evaluate(unknown), strict=True))
        known_values = np.stack([self._known[coalition] for coalition in coalitions])
        most = max(1, self._limit // max(known_values[0].nbytes, 1))
        for coalition in list(self._known)[: max(0, len(self._known) - most)]:
            del self._known[coalition]
        return known_values


def value_function(game: Game) -> Remembered:
    """The game as a function of one coalition, which remembers."""
    return Remembered(lambda coalitions: values(game, coalitions))


def remembering(function: ValueFunction) -> Remembered:
    """Any value function, made to remember; one that does is given back."""
    if isinstance(function, Remembered):
        return function
    return Remembered(
        lambda coalitions: np.stack([np.asarray(function(coalition), np.float64) for coalition in coalitions])
    )


def check_players(players: Sequence[Player], coalitions: Iterable[Coalition]) -> None:
    """UserError where a coalition holds somebody who is no player."""
    strangers = frozenset().union(*coalitions) - frozenset(players)
    if strangers:
        names = ", ".join(map(str, players))
        raise UserError(f"coalition names '{min(strangers)}', who is no player of this game; choose from {names}.")


def _members(pair: PairData, members: Iterable[Component] | None) -> tuple[Component, ...]:
    shapes = [(cfg.n_layers, cfg.n_heads, cfg.d_model, not cfg.attn_only) for cfg in (pair.below.cfg, pair.above.cfg)]
    if shapes[0] != shapes[1]:
        names = ("layers", "heads", "d_model", "MLPs")
        other = next(i for i in range(4) if shapes[0][i] != shapes[1][i])
        raise UserError(
            f"networks have {names[other]} {shapes[0][other]} from below and {shapes[1][other]} from above; compare two"
            " of one shape."
        )
    n_layers, n_heads, _, mlps = shapes[0]
    every = components(n_layers, n_heads, mlps)
    chosen = every if members is None else tuple(sorted(set(members)))
    missing = [str(component) for component in chosen if component not in every]
    if missing or not chosen:
        wrong = f"player '{missing[0]}' does not exist" if missing else "the game has no player"
        raise UserError(f"{wrong}; choose from {', '.join(map(str, every))}.")
    return chosen


def _components(players: Iterable[Player]) -> frozenset[Component]:
    return frozenset(player for player in players if isinstance(player, Component))


def _margins(
    network: CachedRun, sets: Sequence[frozenset[Component]], references: dict[Component, Reference]
) -> tuple[Float[np.ndarray, "set trial"], Float[np.ndarray, "set trial"]]:
    """Margin and answer mass with each set replaced at the query."""
    where = query_only(network.trials.tokens.shape[1])
    margin, mass = (np.empty((len(sets), len(network.trials))) for _ in range(2))
    for part in chunks(len(sets), AT_ONCE):
        readout = network.sweep([edits_for(replaced, references, where) for replaced in sets[part]])
        margin[part] = readout["margin"]
        mass[part] = readout["p_contextual"].astype(np.float64) + readout["p_fixed"]
    return margin, mass


GAMES = {DONOR.name: donor_game, OWN_MEAN.name: own_mean_game}
"""Name → the game of a pair."""
