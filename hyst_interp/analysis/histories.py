"""Two verified checkpoints: their networks and trials, built when they are first needed, and what was measured on them.

Whatever a question offers for a pair is a function of this class; `facade/pair.py` makes methods of them. A pair is
checked when it is made: manifests first, then the weights' hashes.
"""

from collections.abc import Callable, Hashable
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, TypeVar

from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.config.study import AttenuationConfig
from hyst_interp.errors import UserError
from hyst_interp.storage.checkpoint import Checkpoint, load
from hyst_interp.storage.manifest import describe, read_manifest, refuse_unlike

TWO_NETWORKS = "Intervals are over trials: they speak of these two networks only."
T = TypeVar("T")


class Histories:
    """Two checkpoints side by side, on the same trials."""

    def __init__(
        self,
        below: Checkpoint,
        above: Checkpoint,
        trials: int = 2048,
        seed: int | None = None,
        anchor: Checkpoint | None = None,
    ) -> None:
        self.below, self.above, self.anchor = below, above, anchor
        self.n_trials, self.seed = trials, seed
        self._known: dict[Hashable, Any] = {}

    @classmethod
    def open(
        cls,
        below: str | Path,
        above: str | Path,
        trials: int = 2048,
        seed: int | None = None,
        anchor: str | Path | None = None,
    ) -> "Histories":
        """The pair of two checkpoints' paths, from below first.

        Args:
            below, above: checkpoint directories of one seed; a branch directory stands for its hold-000.
            trials: conflict trials that gap and attenuation are measured on, at least 2.
            seed: evaluation stream of the trials; by default the training seed's own.
            anchor: the common ancestor's checkpoint, needed by the reference `anchor-mean`.

        Raises:
            UserError: a path that is no whole checkpoint, two that cannot be compared, or the wrong order.
        """
        if trials < 2:
            raise UserError(f"trials is {trials}; use at least 2.")
        if seed is not None and seed < 0:
            raise UserError(f"seed is {seed}; use 0 or more.")
        first, second = read_manifest(below)[1], read_manifest(above)[1]
        refuse_unlike(first, second)
        if anchor is not None:
            refuse_unlike(first, read_manifest(anchor)[1], ordered=False)
        return cls(load(below), load(above), trials, seed, None if anchor is None else load(anchor))

    def __repr__(self) -> str:
        sides = " | ".join(describe(one.manifest) for one in (self.below, self.above))
        return f"Pair({sides}; {self.n_trials} conflict trials)"

    def _repr_html_(self) -> str:
        """Both checkpoints beside each other; no network runs here."""
        below, above = self.below.facts(), self.above.facts()
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            + "".join(f'<td style="text-align:left">{escape(side.get(name, "–"))}</td>' for side in (below, above))
            + "</tr>"
            for name in dict.fromkeys([*below, *above])
        )
        head = "<tr><th></th><th>from below</th><th>from above</th></tr>"
        return f"<div><b>Pair</b> {self.n_trials:,} conflict trials<table>{head}{rows}</table></div>"

    @cached_property
    def data(self) -> PairData:
        """Both networks, the trials, and the inputs behind means: what the questions work on."""
        setup = self.below.manifest.setup
        return PairData(
            self.below.model(),
            self.above.model(),
            evaluation_trials(setup, self.n_trials, self.seed),
            mean_inputs(setup, AttenuationConfig().means_trials, self.seed),  # type: ignore[call-arg]
            None if self.anchor is None else self.anchor.model(),
        )

    def kept(self, key: Hashable, measure: Callable[[], T]) -> T:
        """What `measure` returned under this key, computed when it is first asked for."""
        if key not in self._known:
            self._known[key] = measure()
        return self._known[key]
