"""Two verified checkpoints: their networks and trials, built when they are first needed, and the gap between them."""

from functools import cached_property
from html import escape

import xarray as xr

from hyst_interp.comparison import gap as gaps
from hyst_interp.comparison.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.config.study import AttenuationConfig
from hyst_interp.history.schedule import BRANCHES
from hyst_interp.statistics import Estimate, over_trials
from hyst_interp.storage.checkpoint import Checkpoint
from hyst_interp.storage.manifest import describe


class Histories:
    """What a pair is before anything is asked of its insides."""

    def __init__(
        self, below: Checkpoint, above: Checkpoint, trials: int, seed: int | None, anchor: Checkpoint | None
    ) -> None:
        self.below, self.above, self.anchor = below, above, anchor
        self.n_trials, self.seed = trials, seed
        self._kept: dict[tuple, list[list[xr.Dataset]]] = {}
        self._effects: dict[tuple[str, int], xr.Dataset] = {}

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
        if "_margins" not in vars(self):
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

    @cached_property
    def _margins(self) -> xr.Dataset:
        return gaps.pair_behaviour(self.data)

    def margins(self) -> xr.Dataset:
        """Margins, their split, and probabilities, dims (branch, trial), in logits and probabilities."""
        return self._margins.copy()

    def gap(self) -> Estimate:
        """Mean margin(from below) − mean margin(from above) in logits, with an interval over trials."""
        return over_trials(gaps.gap(self._margins).values, "logits")

    def mean_margins(self) -> dict[str, Estimate]:
        """Mean margin of each history in logits, with an interval over trials."""
        margins = self._margins["margin"].astype("float64")
        return {branch: over_trials(margins.sel(branch=branch).values, "logits") for branch in BRANCHES}

    def by_stratum(self) -> dict[str, Estimate]:
        """The gap within each stratum of the prompt (fixed answer present or absent, contextual answer repeated)."""
        return gaps.by_stratum(self._margins, self.data.trials)

    def by_key(self) -> xr.DataArray:
        """Mean gap in logits for every queried key, dim `key`."""
        return gaps.by_key(self._margins)
