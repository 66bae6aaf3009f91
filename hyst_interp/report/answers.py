"""Answers: what a question says of a run in a few words, by a rule, from intervals; or that it is undetermined.

Nothing here looks at a particular run. Intervals of many groups, players, or edges stand side by side uncorrected: who
reads down a list for the largest should know it, and every rule says so beside the answers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hyst_interp.report.wording import estimate, listed
from hyst_interp.statistics import Estimate
from hyst_interp.verdicts import Verdict

UNDETERMINED = Verdict.UNDETERMINED
MOST = 3
"""Carriers that an answer names."""
CARRIER_RULE = (
    "Weights, component, edges: those whose interval leaves out 0 on the gap’s side are named, the largest"
    f" {MOST} first; intervals are not corrected for how many stand side by side."
)


@dataclass(frozen=True)
class Answer:
    """A question, the answer in a few words, and the numbers that it rests on."""

    question: str
    answer: str
    words: str
    control: str
    rule: str
    """How the answer follows from the numbers."""


def carriers(named: Iterable[tuple[str, Estimate]], gap: Estimate) -> list[tuple[str, Estimate]]:
    """Those on the gap's side whose intervals leave out 0, largest first; none without a gap that leaves out 0."""
    if gap.estimate is None or not gap.excludes(0):
        return []
    sign = 1 if gap.estimate > 0 else -1
    there = [(name, part) for name, part in named if part.excludes(0) and (part.estimate or 0) * sign > 0]
    return sorted(there, key=lambda pair: -abs(pair[1].estimate or 0.0))


def name_carriers(question: str, named: list[tuple[str, Estimate]], gap: Estimate, control: str) -> Answer:
    """The answer to a question that asks which of several parts carry the gap."""
    there = carriers(named, gap)
    if not there:
        words = (
            f"of {len(named)}, none has an interval that leaves out 0 on the side of the gap, {estimate(gap)} logits"
        )
        return Answer(question, UNDETERMINED, words, control, CARRIER_RULE)
    told = [f"{name} {estimate(part)}" for name, part in there[:MOST]]
    more = f"; {len(there) - MOST} further" if len(there) > MOST else ""
    words = f"of the gap of {estimate(gap)} logits: {listed(told)}{more} (of {len(named)})"
    return Answer(question, listed([name for name, _ in there[:MOST]]), words, control, CARRIER_RULE)
