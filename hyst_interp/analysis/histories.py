"""Two verified checkpoints: their networks and trials, built when they are first needed, and what was measured on them.

The networks are the user's to change. Numbers are always those of the networks as they are when they are asked for
(`kept` forgets the others); what reads a checkpoint's weights instead is refused once its network has been changed.
Whatever a question offers for a pair is a function of this class; `facade/pair.py` makes methods of them. A pair is
checked when it is made: manifests first, then the weights' hashes.
"""

from collections.abc import Callable
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TypeVar

from hyst_interp.analysis.kept import Kept, network_mark, trials_mark
from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.config.study import AttenuationConfig
from hyst_interp.errors import UserError
from hyst_interp.storage.checkpoint import Checkpoint, load
from hyst_interp.storage.manifest import describe, read_manifest, refuse_unlike

TWO_NETWORKS = "Intervals are over trials: they speak of these two networks only."
Value = TypeVar("Value")


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
        self._kept = Kept(self._mark)

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
        sides = " | ".join(describe(checkpoint.manifest) for checkpoint in (self.below, self.above))
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
        """What a pair says of its gap; here nothing."""
        return "gap not measured yet"

    @cached_property
    def data(self) -> PairData:
        """Both networks, the trials, and the inputs behind means: what the questions work on."""
        task = self.below.task
        return PairData(
            self.below.model(),
            self.above.model(),
            evaluation_trials(task, self.n_trials, self.seed),
            mean_inputs(task, AttenuationConfig().means_trials, self.seed),  # type: ignore[call-arg]
            task,
            None if self.anchor is None else self.anchor.model(),
        )

    def kept(self, key: tuple, measure: Callable[[], Value]) -> Value:
        """What `measure` returned under this key for the networks as they are, measured unless it is known."""
        return self._kept.get((*key, self.seed), measure)

    def knows(self, key: tuple) -> bool:
        """Whether `kept` need not measure."""
        return "data" in vars(self) and self._kept.has((*key, self.seed))

    def _mark(self) -> str | None:
        """What kept numbers depend on; None while a network has none (see `kept.network_mark`)."""
        networks = (self.data.below, self.data.above, self.data.anchor)
        marks = [network_mark(network) for network in networks if network is not None]
        if None in marks:
            return None
        return " ".join([*map(str, marks), trials_mark(self.data.trials)])

    def as_loaded(self, side: str) -> bool:
        """Whether a network (`below`, `above`, `anchor`) still is what its checkpoint makes."""
        mark = network_mark(getattr(self.data, side))
        return mark is not None and mark == network_mark(getattr(self, side).model())

    def refuse_changed(self, question: str, *sides: str) -> None:
        """UserError where a network is not its checkpoint's any more, for a question that reads the checkpoint."""
        for side in sides:
            if not self.as_loaded(side):
                directory = getattr(self, side).directory
                raise UserError(
                    f"{question} reads the weights of checkpoint '{directory}', and pair.data.{side} has other weights,"
                    " settings, or hooks by now; undo the change, or save the changed network as a checkpoint and make"
                    " the pair of that."
                )
