"""The verdict in a sentence, and its reasons, each from an interval by a rule that is printed beside it.

Three words are possible. *Finite-rate transient*: the gap on arrival has a sign, and at the last hold it is equivalent
to 0. *Persistent branch*: it has a sign on arrival, and at the last hold it lies wholly outside the margin of
equivalence on the same side. *Undetermined*: anything else. A transient is called overshoot where from below is more
contextual on arrival, and lag where it is less.
"""

from dataclasses import dataclass

from hyst_interp.questions.attenuation import of_run as attenuation_of_run
from hyst_interp.questions.gap import of_run as gap_of_run
from hyst_interp.questions.gap.gap_phases import Phase
from hyst_interp.questions.similarity import of_run as similarity_of_run
from hyst_interp.questions.transplant import of_run as transplant_of_run
from hyst_interp.report.judged import claim
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import correlation, direction, estimate, listed, number, relaxation
from hyst_interp.statistics import Equivalence, Estimate, sign_flip_can_reject
from hyst_interp.verdicts import Verdict

RULE = (
    "Rule: a transient has a sign on arrival and is equivalent to 0 at the last hold; a persistent branch has a sign"
    " on arrival and lies beyond the margin on the same side at the last hold; anything else is undetermined. Signs are"
    " those of whole intervals."
)


@dataclass(frozen=True)
class Finding:
    """What the run says of history dependence."""

    word: Verdict
    sentence: str
    reasons: list[str]


def kind(arrival: Estimate, last: Equivalence) -> Verdict:
    """`transient overshoot`, `transient lag`, `persistent branch`, or `undetermined`."""
    if arrival.estimate is None or not arrival.excludes(0):
        return Verdict.UNDETERMINED
    if last.verdict == Verdict.EQUIVALENT:
        return Verdict.TRANSIENT_OVERSHOOT if arrival.estimate > 0 else Verdict.TRANSIENT_LAG
    end = last.interval.estimate
    if last.verdict == Verdict.DIFFERENT and end is not None and end * arrival.estimate > 0:
        return Verdict.PERSISTENT
    return Verdict.UNDETERMINED


def verdict(source: RunResults) -> Finding:
    """The verdict of a run, from its claims, its relaxation, and its maps."""
    row = claim(source, "arrival-gap")
    arrival = row.estimate if row else source.once(attenuation_of_run.replaced)[0].gap
    conclusion = kind(arrival, source.once(gap_of_run.relaxation))
    hold = source.last_hold
    sentences = {
        Verdict.TRANSIENT_OVERSHOOT: "Finite-rate history dependence, a transient overshoot: on arrival the network"
        f" from below is more contextual, the opposite of lag, and after {hold} shared updates the difference is gone.",
        Verdict.TRANSIENT_LAG: "Finite-rate history dependence, a transient: on arrival the network from below is less"
        f" contextual, the sign of lag{_later(source)}, and after {hold} shared updates the difference is gone.",
        Verdict.PERSISTENT: f"A persistent branch, as far as this run looks: the difference on arrival is still there,"
        f" on the same side, after {hold} shared updates.",
        Verdict.UNDETERMINED: "Undetermined: this run does not say whether history leaves a difference on arrival that"
        f" is gone, or one that is still there, after {hold} shared updates.",
    }
    return Finding(
        conclusion, sentences[conclusion], [*_course(source, arrival), *_circuit(source), *_limits(source, conclusion)]
    )


def _course(source: RunResults, arrival: Estimate) -> list[str]:
    reasons = [f"On arrival the gap is {estimate(arrival)} logits: {direction(arrival)}."]
    if arrival.estimate is not None and arrival.excludes(0):
        reasons[0] += (
            " A network that lagged behind its mixture would show a gap below 0."
            if arrival.estimate > 0
            else " That is the sign of lag."
        )
    if source.once(gap_of_run.named_phases):
        named = [
            f"{phase.name} ({number(phase.gap.estimate)} logits{_when(source, phase)})"
            for phase in source.once(gap_of_run.named_phases)
        ]
        reasons.append(
            f"After the last update away from p0 the mean gap goes through {listed(named)}; where it is sampled decides"
            " which of them is seen."
        )
    last = source.once(gap_of_run.relaxation)
    reasons.append(
        f"At hold {source.last_hold} the gap is {estimate(last.interval)} logits, against a margin of"
        f" ±{number(last.margin, 3, False)}: {relaxation(last)}."
    )
    return reasons


def _later(source: RunResults) -> str:
    """That an overshoot follows arrival, where one does."""
    over = [
        phase
        for phase in source.once(gap_of_run.named_phases)
        if phase.name == "overshoot" and _hold(source, phase) is not None
    ]
    return f"; the overshoot, its opposite, follows{_when(source, over[0])}" if over else ""


def _when(source: RunResults, one: Phase) -> str:
    """The hold at a phase's extreme, or that it comes before arrival."""
    hold = _hold(source, one)
    return " before arrival" if hold is None else f" at hold {hold:.0f}"


def _hold(source: RunResults, one: Phase) -> float | None:
    """Updates since arrival at a phase's extreme; None before it."""
    hold = float(source.once(gap_of_run.curve)["hold"].sel(position=one.extreme))
    return hold if hold == hold else None


def _circuit(source: RunResults) -> list[str]:
    reasons = []
    key = ("result", "role")
    if key in source.once(similarity_of_run.comparisons):
        alike, engaged = (
            source.once(similarity_of_run.comparisons)[key],
            source.once(similarity_of_run.engagements)[key],
        )
        between, ceiling = (alike.correlation(name) for name in ("histories", "ceiling"))
        near = "" if ceiling.estimate is None else f", where siblings reach {correlation(ceiling.estimate)}"
        reasons.append(f"Both histories’ maps over heads correlate with r = {estimate(between)}{near}.")
        blind = "" if engaged.detectable is None else f"; a gain nearer to 1 than ±{engaged.detectable:.2g} would not"
        tail = f"{blind} have been seen" if blind else ""
        reasons.append(f"The circuit’s gain, from above over from below, is {estimate(engaged.gain)}{tail}.")
    share = claim(source, "share-removed")
    if share is not None and share.estimate.estimate is not None:
        reasons.append(f"{share.quantity.capitalize()}: {estimate(share.estimate)}, as a share of it.")
    return reasons


def _limits(source: RunResults, found: Verdict) -> list[str]:
    n = len(source.study.seeds)
    reasons = []
    if not sign_flip_can_reject(n):
        reasons.append(
            f"With {n} seed{'s' if n != 1 else ''} an exact sign-flip test cannot fall below p = {2 / 2**n:.4g}: signs"
            " and intervals are described, significance is not claimed."
        )
    if found.transient:
        reasons.append(
            "A transient speaks of this schedule’s rate. That no slower sweep leaves a branch behind is not shown by"
            " it"
            + (
                "; whether the memory sits in the parameters or in the optimizer’s state is asked below."
                if source.once(transplant_of_run.transplanted)
                else ", and whether the memory sits in the parameters or in the optimizer’s state is not asked here."
            )
        )
    return reasons
