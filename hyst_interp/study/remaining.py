"""The time that a study still takes, from what its stages have taken so far.

A stage that is left costs what its kind cost on average: an anchor may take a hundred times as long as a circuit. A
kind that was never seen costs the average of all stages. The work that is left is divided by the parallelism that was
observed, and never takes less than the longest chain of stages that need one another.

Pure: no clock; durations and times are handed in.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from hyst_interp.study.plan import Stage


@dataclass(frozen=True)
class Took:
    """One stage that was carried out."""

    kind: str
    seconds: float
    """How long it took."""
    ended: float
    """When it ended, in seconds since the work began."""


def parallelism(taken: Sequence[Took]) -> float:
    """Seconds of stages by seconds of the clock: two workers that are never idle give 2, one that idles half gives ½.

    1 where one of the two is 0.
    """
    work, wall = sum(took.seconds for took in taken), max(took.ended for took in taken)
    return work / wall if work > 0 and wall > 0 else 1.0


def time_left(taken: Sequence[Took], left: Sequence[Stage]) -> float | None:
    """Seconds until the stages of `left` are done; None while nothing was carried out.

    Stages under way count whole. Needs that are not in `left` are done.
    """
    if not taken:
        return None
    by_kind: dict[str, list[float]] = defaultdict(list)
    for took in taken:
        by_kind[took.kind].append(took.seconds)
    means = {kind: fmean(seconds) for kind, seconds in by_kind.items()}
    overall = fmean(took.seconds for took in taken)
    cost = {stage.directory: means.get(stage.kind, overall) for stage in left}
    chain: dict[str, float] = {}  # seconds until a stage is done, were there a worker for every stage
    for stage in left:
        chain[stage.directory] = cost[stage.directory] + max(
            (chain.get(need, 0.0) for need in stage.needs), default=0.0
        )
    return max(sum(cost.values()) / parallelism(taken), max(chain.values(), default=0.0))
