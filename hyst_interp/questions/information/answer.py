"""The sentence that answers: does it survive another estimator?"""

from collections.abc import Iterable

from hyst_interp.analysis.agreement import compared
from hyst_interp.analysis.summary import cell, records
from hyst_interp.questions.information.of_run import information
from hyst_interp.questions.shapley.of_run import games
from hyst_interp.questions.shapley.summary import SUM
from hyst_interp.references import DONOR, OWN_MEAN
from hyst_interp.report.answers import Answer
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import listed, number
from hyst_interp.statistics import Estimate
from hyst_interp.verdicts import AGREEMENTS, Verdict

RULE = (
    "Another estimator: “no” if both games put a player surely on opposite sides of 0; “yes” if there is none such and"
    " they put at least half of the players surely on the same side; else undetermined."
)


def survives(pairs: Iterable[tuple[Estimate, Estimate]]) -> tuple[Verdict, dict[Verdict, int]]:
    """`yes`, `no`, or undetermined, and how many of the pairs agree, have one sign, differ in sign, cannot be told."""
    verdicts = [compared(estimate, other) for estimate, other in pairs]
    counts = {verdict: verdicts.count(verdict) for verdict in AGREEMENTS}
    if counts[Verdict.OPPOSITE_SIGNS]:
        return Verdict.NO, counts
    alike = counts[Verdict.AGREE] + counts[Verdict.SAME_SIGN]
    return (Verdict.YES if verdicts and 2 * alike >= len(verdicts) else Verdict.UNDETERMINED), counts


def answer(source: RunResults) -> Answer | None:
    """None unless both games were played."""
    played = source.once(games)
    if not {DONOR.name, OWN_MEAN.name} <= played.keys():
        return None
    donor, mean = (
        {row["player"]: row["shapley"] for row in records(played[game.name]) if row["player"] != SUM}
        for game in (DONOR, OWN_MEAN)
    )
    word, counts = survives((donor[player], mean[player]) for player in mean if player in donor)
    tally = listed([f"{count} {name}" for name, count in counts.items() if count])
    words = f"{DONOR.name} against {OWN_MEAN.name} game, {sum(counts.values())} players: {tally}"
    if (parts := source.once(information)) is not None:
        trusted = int((parts["verdict"] == Verdict.TRUSTED).sum())
        words += f"; estimators of mean and information trusted in {trusted} of {parts['verdict'].size} cases"
    rest = cell(played[OWN_MEAN.name], player=SUM, quantity="rest")
    control = f"the {OWN_MEAN.name} game leaves {number(rest.estimate)} logits of the gap to no player"
    return Answer("Does it survive another estimator?", word, words, control, RULE)
