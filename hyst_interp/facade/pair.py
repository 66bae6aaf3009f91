"""Pair: two verified checkpoints, and everything that the questions ask of two histories."""

from pathlib import Path

from hyst_interp.analysis.histories import Histories
from hyst_interp.explorer.explorer_data import explore_pair
from hyst_interp.facade.methods import add_methods
from hyst_interp.questions import questions
from hyst_interp.questions.gap.methods import BEHAVIOUR, gap


class Pair(Histories):
    """Two verified checkpoints, and everything that can be asked of them; make one with `pair(below, above)`."""

    exploration = explore_pair

    def _known_gap(self) -> str:
        return f"gap {gap(self).text()} logits" if self.knows(BEHAVIOUR) else super()._known_gap()


add_methods(Pair, {question: question.pair_methods for question in questions()})


def pair(
    below: str | Path,
    above: str | Path,
    trials: int = 2048,
    seed: int | None = None,
    anchor: str | Path | None = None,
) -> Pair:
    """The pair of two checkpoints' paths, from below first.

    Args:
        below, above: checkpoint directories of one seed; a branch directory stands for its hold-000.
        trials: conflict trials that gap and attenuation are measured on, at least 2.
        seed: evaluation stream of the trials; by default the training seed's own.
        anchor: the common ancestor's checkpoint, needed by the reference `anchor-mean`.

    Raises:
        UserError: a path that is no whole checkpoint, two that cannot be compared, or the wrong order.
    """
    opened = Pair.open(below, above, trials, seed, anchor)
    assert isinstance(opened, Pair)
    return opened
