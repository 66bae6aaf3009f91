"""Where the difference of two histories is: in optimizer or weights, in which components, as mean or as information.

Each method is one call down into `localization/`, and gives Rows: printed as a table, `found` the arrays behind them
with every trial kept, `figure()` the picture.
"""

from collections.abc import Sequence
from functools import partial

import xarray as xr

from hyst_interp.analysis.histories import Histories
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.errors import UserError
from hyst_interp.facade import pictures
from hyst_interp.history.state import TrainingState
from hyst_interp.questions.crossing.layer_swap import ladder_rows, prefix_ladder
from hyst_interp.questions.crossing.measure import crossing, crossing_table
from hyst_interp.questions.information.measure import information
from hyst_interp.questions.information.summary import ESTIMATORS, distance_rows, information_rows
from hyst_interp.questions.patching.measure import refuse_unknown
from hyst_interp.questions.shapley.games import Game, donor_game, own_mean_game
from hyst_interp.questions.shapley.measure import MOST_PLAYERS, shapley
from hyst_interp.questions.shapley.sampling import sampled_game
from hyst_interp.questions.shapley.summary import pair_rows, shapley_rows
from hyst_interp.questions.transplant.measure import UPDATES, transplant
from hyst_interp.questions.transplant.summary import transplant_rows
from hyst_interp.questions.weights.measure import move_rows, weight_moves
from hyst_interp.sites import Component
from hyst_interp.streams import Stream

GAMES = {"donor": donor_game, "own-mean": own_mean_game}
"""Name → the game of a pair."""
TWO_NETWORKS = "Intervals are over trials: they speak of these two networks only."
PERMUTATIONS = 400
"""Orders of the players that are sampled where there are too many for all coalitions."""

TRANSPLANT = (
    Column("updates", "updates"),
    Column("gap", "gap"),
    Column("weights", "weights"),
    Column("optimizer", "optimizer"),
    Column("interaction", "interaction"),
)
WEIGHTS = (
    Column("group", "weights"),
    Column("logits_moved", "logits moved"),
    Column("share", "share of the gap"),
    Column("all_but_moved", "moved by all others"),
)
PLAYERS = (
    Column("player", "player"),
    Column("shapley", "Shapley value"),
    Column("share", "share of the gap"),
    Column("first", "alone"),
    Column("last", "last to join"),
)
PAIRS = (Column("player_a", "one"), Column("player_b", "other"), Column("interaction", "interaction"))
INFORMATION = (
    Column("estimator", "estimator"),
    Column("components", "components"),
    Column("mean", "mean"),
    Column("information", "information"),
    Column("remainder", "remainder"),
    Column("verdict", "verdict"),
)
DISTANCES = (
    Column("replacement", "replacement"),
    Column("components", "components"),
    Column("answer_mass", "answer mass"),
    Column("divergence", "KL in nats"),
)
RUNGS = (
    Column("rung", "the donor's up to"),
    Column("moved", "logits moved"),
    Column("added", "added"),
    Column("added_share", "share of the gap"),
)


class Located(Histories):
    """A pair's questions about where its difference is; `Pair` has them."""

    def transplant(self, updates: Sequence[int] = UPDATES) -> Rows:
        """Optimizer against weights: the gap at p0 after exchanging optimizer states, a row a number of updates.

        Every history is trained on at p0 with each of seven optimizer states (own, the other's, single moments, the
        anchor's, reset, zeroed) on the same batches. In logits: `gap`, `weights` and `optimizer` (which add up to it),
        `interaction`, the moments apart, and `shared: …`, the gap with one optimizer state in both. At 0 updates the
        optimizer's effect is exactly 0.

        Args:
            updates: numbers of updates after the transplant, increasing, from 0 on.

        Returns:
            Rows; `found` has dims (weights, optimizer, update, trial).

        Raises:
            UserError: a pair without its anchor, or a checkpoint of the three that keeps no optimizer state; another
                anchor than the recorded one; two that are not related as `localization.transplant` needs it; networks
                that were changed after loading.
        """
        below, above, anchor = self._states()
        self._refuse_changed("a transplant", "below", "above", "anchor")
        found = transplant(below, above, anchor, updates, self.data.trials, self.below.provenance.hold or 0)
        notes = ["In logits; weights + optimizer = gap.", TWO_NETWORKS]
        return Rows(transplant_rows(found), TRANSPLANT, found, partial(pictures.of_transplant, found), notes=notes)

    def _states(self) -> tuple[TrainingState, TrainingState, TrainingState]:
        if self.anchor is None:
            raise UserError(
                "a transplant needs the anchor that both histories started from; make the pair with anchor=…."
            )
        for one in (self.below, self.above, self.anchor):
            if one.moments is None:
                raise UserError(
                    f"checkpoint '{one.directory}' keeps no optimizer state, and a transplant needs it in both"
                    " histories and in their anchor; use checkpoints saved with it (save_optimizer in the study)."
                )
        for one in (self.below, self.above):
            recorded = one.provenance.anchor
            if recorded is not None and recorded.state != self.anchor.manifest.state:
                raise UserError(
                    f"'{self.anchor.directory}' is not the anchor that '{one.directory}' records; give that one."
                )
        return self.below.state(), self.above.state(), self.anchor.state()

    def weights(self) -> Rows:
        """What moving each group of weights from one history into the other moves of the gap; no optimizer is needed.

        A row a family and a group (a head's QK and OV, MLP in and out, embeddings, LayerNorms, …): in logits
        `logits_moved` alone (mean of both directions) and `all_but_moved`, what all other weights move together; the
        `share` of the gap; and each direction. `found` has dims (move, branch, group, trial).

        Raises:
            UserError: networks of different shapes, or changed after loading.
        """
        self._refuse_changed("moving weights", "below", "above")
        setup = self.below.manifest.setup
        found = weight_moves(setup, self.below.weights, self.above.weights, self.data.trials)
        rows = move_rows(found)
        draw = partial(pictures.of_weights, rows, self.gap())
        return Rows(rows, WEIGHTS, found, draw, notes=[TWO_NETWORKS])

    def shapley(self, game: str = "donor", components: str | None = None) -> Rows:
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
        played: Game = GAMES[game](self.data, self._players(components))
        found = self._account(played)
        rows, pairs = shapley_rows(found), pair_rows(found)
        notes = [TWO_NETWORKS]
        if "permutations" in found.attrs:
            notes.append(
                f"{len(played.players)} players are too many for all coalitions (at most {MOST_PLAYERS}): sampled,"
                f" {found.attrs['permutations']} orders."
            )
        beside = {"pairs": Rows(pairs, PAIRS)} if pairs else {}
        draw = partial(pictures.of_shapley, rows, pairs, game)
        return Rows(rows, PLAYERS, found, draw, beside, notes)

    def _players(self, components: str | None) -> list[Component] | None:
        if components is None:
            return None
        joined = [part.strip() for part in components.split(",") if "+" in part]
        if joined:
            raise UserError(
                f"'{joined[0]}' is one set, but players of a Shapley value are single components; write"
                f" {joined[0].replace('+', ',')}."
            )
        return sorted({member for one in self.data.sets(components) for member in one.members})

    def _account(self, game: Game) -> xr.Dataset:
        if len(game.players) <= MOST_PLAYERS:
            return shapley(game)
        return sampled_game(game, Stream("resampling", self.below.manifest.setup.seed), PERMUTATIONS)

    def information(self, components: str = "each,heads,mlps,all") -> Rows:
        """Mean or information: what of a component's share of the gap is its mean, what depends on the prompt.

        A row an estimator and a set: in logits `whole`, `mean`, `information`, and the `remainder` that says how far
        the two are from adding up; their shares of the gap; `verdict` and `reason`, whether this estimator can be
        trusted for this set, by rules that stand in `localization.information_rows`. `beside["distances"]` says how far
        every replacement takes the networks from where they were.

        Args:
            components: sets separated by commas, as in `attenuation`.

        Raises:
            UserError: a component that the model lacks, or networks of different shapes.
        """
        found = information(self.data, components)
        rows = information_rows(found)
        counts = [
            f"{name}: trusted for {sum(row['verdict'] == 'trusted' for row in mine)} of {len(mine)}."
            for name in ESTIMATORS
            if (mine := [row for row in rows if row["estimator"] == name])
        ]
        distances = distance_rows(found)
        return Rows(
            rows,
            INFORMATION,
            found,
            partial(pictures.of_information, rows, distances),
            {"distances": Rows(distances, DISTANCES)},
            [*counts, TWO_NETWORKS],
        )

    def crossing(self, site: str = "resid_pre") -> xr.Dataset:
        """Content of each history moved into the other, cell by cell: where it suffices, and where it is needed.

        Variables `estimate`, `low`, `high` in logits, dims (effect, layer[, head], role): `sufficient`, `necessary`,
        their difference `asymmetry`, and `moved`, their mean; roles and `everywhere`. `attrs["gap"]` is the gap as
        text. `hi.figures.crossing_map(….["estimate"])` draws it.

        Args:
            site: `resid_pre`, `result`, or `mlp_out`.

        Raises:
            UserError: a site that cannot be moved, or that the model does not have; networks of different shapes.
        """
        table = crossing_table(crossing(self.data, site))
        return table.assign({name: one.assign_attrs(table.attrs) for name, one in table.data_vars.items()})

    def prefix_ladder(self) -> Rows:
        """Along the depth: how much of the gap is moved when everything up to a cut is the donor's, a row a rung.

        In logits `moved` (0 at the first rung and the gap at the last, exactly) and `added` by the rung, mean of both
        directions, and each direction; `added_share` of the gap. `found["end_error"]` is the control: 0 exactly.

        Raises:
            UserError: networks of different shapes.
        """
        found = prefix_ladder(self.data)
        rows = ladder_rows(found)
        return Rows(rows, RUNGS, found, partial(pictures.of_ladder, rows, self.gap()), notes=[TWO_NETWORKS])
