"""Where the memory is: five questions, each answered by a rule from intervals, or left undetermined.

Nothing here looks at a particular run. Intervals of many groups, players, or routes stand side by side uncorrected: who
reads down a list for the largest should know it, and `RULES` says so beside the answers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hyst_interp.analysis.exchange import exchanged
from hyst_interp.analysis.replicates import over_seeds
from hyst_interp.questions.attenuation.measure import logits_moved
from hyst_interp.questions.attribution.direct_attribution import compared
from hyst_interp.questions.gap.relaxation import per_seed
from hyst_interp.questions.transplant.summary import TransplantRow
from hyst_interp.report.source import Source, number_of
from hyst_interp.report.wording import estimate, listed, number
from hyst_interp.statistics import Estimate

UNDETERMINED = "undetermined"
MOST = 3
"""Carriers that an answer names."""
RULES = (
    "Rules. Optimizer or weights: the larger part is named where the interval of the weights’ share of the gap lies"
    " wholly on one side of one half. Weights, component, route: those whose interval leaves out 0 on the gap’s side"
    f" are named, the largest {MOST} first; intervals are not corrected for how many stand side by side. Another"
    " estimator: “no” if both games put a player surely on opposite sides of 0; “yes” if there is none such and they"
    " put at least half of the players surely on the same side; else undetermined. Without a gap whose interval leaves"
    " out 0 nothing is answered."
)


@dataclass(frozen=True)
class Answer:
    """A question, the answer in a few words, and the numbers that it rests on."""

    question: str
    answer: str
    words: str
    control: str


def answers(source: Source) -> list[Answer]:
    """Those of the five questions that the run has results for."""
    found = (_optimizer(source), _weights(source), _component(source), _route(source), _survives(source))
    return [one for one in found if one is not None]


def decisive(rows: Sequence[TransplantRow]) -> TransplantRow | None:
    """The row after 0 updates with the largest |gap| among those whose gap leaves out 0; None where none does."""
    after = [row for row in rows if row["updates"] != 0 and number_of(row["gap"]).excludes(0)]
    return max(after, key=lambda row: abs(number_of(row["gap"]).estimate or 0.0), default=None)


def larger_part(share: Estimate) -> str:
    """Which of two parts that add up to the gap is the larger, from the weights' share of it."""
    if share.estimate is None or share.low is None or share.high is None:
        return UNDETERMINED
    if share.low > 0.5:
        return "mostly the weights"
    return "mostly the optimizer" if share.high < 0.5 else UNDETERMINED


def carriers(named: Iterable[tuple[str, Estimate]], gap: Estimate) -> list[tuple[str, Estimate]]:
    """Those on the gap's side whose intervals leave out 0, largest first; none without a gap that leaves out 0."""
    if gap.estimate is None or not gap.excludes(0):
        return []
    sign = 1 if gap.estimate > 0 else -1
    there = [(name, one) for name, one in named if one.excludes(0) and (one.estimate or 0) * sign > 0]
    return sorted(there, key=lambda pair: -abs(pair[1].estimate or 0.0))


def survives(pairs: Iterable[tuple[Estimate, Estimate]]) -> tuple[str, dict[str, int]]:
    """`yes`, `no`, or undetermined, and how many of the pairs agree, have one sign, differ in sign, cannot be told."""
    words = [compared(one, two) for one, two in pairs]
    counts = {word: words.count(word) for word in ("agree", "same sign", "opposite signs", UNDETERMINED)}
    if counts["opposite signs"]:
        return "no", counts
    alike = counts["agree"] + counts["same sign"]
    return ("yes" if words and 2 * alike >= len(words) else UNDETERMINED), counts


def _optimizer(source: Source) -> Answer | None:
    rows = source.transplanted
    if not rows:
        return None
    question, control = "In the optimizer, or in the weights?", "all cells of one history agree at 0 updates"
    row = decisive(rows)
    if row is None:
        last = rows[-1]
        words = f"after {last['updates']} updates the gap is {estimate(number_of(last['gap']))} logits, and may be 0"
        return Answer(question, UNDETERMINED, words, control)
    words = (
        f"of the gap of {estimate(number_of(row['gap']))} logits after {row['updates']} update"
        f"{'s' if row['updates'] != 1 else ''} at p0, weights carry {estimate(number_of(row['weights']))}, optimizer"
        f" states {estimate(number_of(row['optimizer']))}"
    )
    return Answer(question, larger_part(number_of(row["weights_share"])), words, control)


def _weights(source: Source) -> Answer | None:
    if not source.moves:
        return None
    gap = over_seeds(per_seed(exchanged(source.results["weights"])["gap"]))
    kinds = [row for row in source.moves if row["level"] == "family" and row["family"] != "sum"]
    named = [(str(row["group"]), number_of(row["logits_moved"])) for row in kinds]
    return _named("In which weights?", named, gap, "all weights moved are the other network")


def _component(source: Source) -> Answer | None:
    if not source.places:
        return None
    named = [(str(row["player"]), number_of(row["shapley"])) for row in source.places]
    gap = number_of(source.games["donor"][-1]["gap"])
    return _named("In which component?", named, gap, "values of all players add up to the gap")


def _route(source: Source) -> Answer | None:
    if not source.edge_kinds:
        return None
    gaps = per_seed(logits_moved(source.results["routes-gap"])["gap"])
    named = [(str(row["kind"]), number_of(row["moved"])) for row in source.edge_kinds]
    return _named("On which route?", named, over_seeds(gaps), "all edges patched are the donor’s run")


def _named(question: str, named: list[tuple[str, Estimate]], gap: Estimate, control: str) -> Answer:
    found = carriers(named, gap)
    if not found:
        words = (
            f"of {len(named)}, none has an interval that leaves out 0 on the side of the gap, {estimate(gap)} logits"
        )
        return Answer(question, UNDETERMINED, words, control)
    told = [f"{name} {estimate(one)}" for name, one in found[:MOST]]
    more = f"; {len(found) - MOST} further" if len(found) > MOST else ""
    words = f"of the gap of {estimate(gap)} logits: {listed(told)}{more} (of {len(named)})"
    return Answer(question, listed([name for name, _ in found[:MOST]]), words, control)


def _survives(source: Source) -> Answer | None:
    if not {"donor", "own-mean"} <= source.games.keys():
        return None
    donor, mean = (
        {row["player"]: number_of(row["shapley"]) for row in source.games[g][:-1]} for g in ("donor", "own-mean")
    )
    word, counts = survives((donor[player], mean[player]) for player in mean if player in donor)
    tally = listed([f"{count} {name}" for name, count in counts.items() if count])
    words = f"donor against own-mean game, {sum(counts.values())} players: {tally}"
    if source.information:
        trusted = sum(row["verdict"] == "trusted" for row in source.information)
        words += f"; estimators of mean and information trusted in {trusted} of {len(source.information)} cases"
    rest = number_of(source.games["own-mean"][-1]["rest"])
    control = f"the own-mean game leaves {number(rest.estimate)} logits of the gap to no player"
    return Answer("Does it survive another estimator?", word, words, control)
