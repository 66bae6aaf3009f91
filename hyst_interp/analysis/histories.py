"""Two verified checkpoints: their networks and trials, built when they are first needed, and the gap between them.

The networks are the user's to change. Numbers are always those of the networks as they are when they are asked for
(`kept` forgets the others); what reads a checkpoint's weights instead is refused once its network has been changed.
"""

from functools import cached_property
from html import escape

import xarray as xr

from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.config.study import AttenuationConfig
from hyst_interp.errors import UserError
from hyst_interp.facade.kept import Kept, network_mark, trials_mark
from hyst_interp.history.schedule import BRANCHES
from hyst_interp.questions.gap import measure as gaps
from hyst_interp.statistics import Estimate, over_trials
from hyst_interp.storage.checkpoint import Checkpoint
from hyst_interp.storage.manifest import describe

MARGINS = ("margins",)
"""Key of the margins among what is kept."""


class Histories:
    """What a pair is before anything is asked of its insides."""

    def __init__(
        self, below: Checkpoint, above: Checkpoint, trials: int, seed: int | None, anchor: Checkpoint | None
    ) -> None:
        self.below, self.above, self.anchor = below, above, anchor
        self.n_trials, self.seed = trials, seed
        self._kept = Kept(self._mark)

    def __repr__(self) -> str:
        sides = " | ".join(describe(one.manifest) for one in (self.below, self.above))
        return f"Pair({sides}; {self.n_trials} conflict trials; {self._known_gap()})"

    def _repr_html_(self) -> str:
        """Both checkpoints beside each other; the gap only where it was asked for before, for no network runs here."""
        below, above = self.below.facts(), self.above.facts()
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            + "".join(f'<td style="text-align:left">{escape(side.get(name, "–"))}</td>' for side in (below, above))
            + "</tr>"
            for name in dict.fromkeys([*below, *above])
        )
        head = "<tr><th></th><th>from below</th><th>from above</th></tr>"
        told = f"{self.n_trials:,} conflict trials; {self._known_gap()}"
        return f"<div><b>Pair</b> {escape(told)}<table>{head}{rows}</table></div>"

    def _known_gap(self) -> str:
        if "data" not in vars(self) or not self._kept.has(MARGINS):
            return "gap not measured yet"
        return f"gap {self.gap().text()} logits"

    @cached_property
    def data(self) -> PairData:
        """Both networks, the trials, and the inputs behind means: what `comparison/` and `localization/` work on."""
        setup = self.below.manifest.setup
        return PairData(
            self.below.model(),
            self.above.model(),
            evaluation_trials(setup, self.n_trials, self.seed),
            mean_inputs(setup, AttenuationConfig().means_trials, self.seed),  # type: ignore[call-arg]
            None if self.anchor is None else self.anchor.model(),
        )

    def _mark(self) -> str | None:
        """What kept numbers depend on; None while a network has none (see `kept.network_mark`)."""
        networks = (self.data.below, self.data.above, self.data.anchor)
        marks = [network_mark(one) for one in networks if one is not None]
        if None in marks:
            return None
        return " ".join([*map(str, marks), trials_mark(self.data.trials)])

    def _as_loaded(self, side: str) -> bool:
        """Whether a network (`below`, `above`, `anchor`) still is what its checkpoint makes."""
        mark = network_mark(getattr(self.data, side))
        return mark is not None and mark == network_mark(getattr(self, side).model())

    def _refuse_changed(self, question: str, *sides: str) -> None:
        """UserError where a network is not its checkpoint's any more, for a question that reads the checkpoint."""
        for side in sides:
            if not self._as_loaded(side):
                directory = getattr(self, side).directory
                raise UserError(
                    f"{question} reads the weights of checkpoint '{directory}', and pair.data.{side} has other weights,"
                    " settings, or hooks by now; undo the change, or save the changed network as a checkpoint and make"
                    " the pair of that."
                )

    def margins(self) -> xr.Dataset:
        """Margins, their split, and probabilities, dims (branch, trial), in logits and probabilities."""
        return self._kept.get(MARGINS, lambda: gaps.pair_behaviour(self.data))

    def gap(self) -> Estimate:
        """Mean margin(from below) − mean margin(from above) in logits, with an interval over trials."""
        return over_trials(gaps.gap(self.margins()).values, "logits")

    def mean_margins(self) -> dict[str, Estimate]:
        """Mean margin of each history in logits, with an interval over trials."""
        margins = self.margins()["margin"].astype("float64")
        return {branch: over_trials(margins.sel(branch=branch).values, "logits") for branch in BRANCHES}

    def by_stratum(self) -> dict[str, Estimate]:
        """The gap within each stratum of the prompt (fixed answer present or absent, contextual answer repeated)."""
        return gaps.by_stratum(self.margins(), self.data.trials)

    def by_key(self) -> xr.DataArray:
        """Mean gap in logits for every queried key, dim `key`."""
        return gaps.by_key(self.margins())
