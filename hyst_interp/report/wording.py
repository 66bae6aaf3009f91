"""Numbers and rules in words: the only place where the report turns a number into text or a reading.

A reading follows from an interval by a rule that is printed beside it; nothing here looks at a particular run.
"""

import re
from collections.abc import Iterable

from hyst_interp.statistics import Equivalence, Estimate
from hyst_interp.verdicts import Verdict

UNSIGNED = (
    "probability",
    "ratio",
    "distance in logits",
    "distances of siblings",
    "edges",
    "share of edges",
    "nats",
    "KL between the histories",
    "share of its norm",
)
"""Units whose numbers carry no plus sign."""


def number(value: float | None, places: int = 3, signed: bool = True) -> str:
    """A number at `places` decimals with a true minus; a dash where there is none."""
    if value is None or value != value:
        return "–"
    text = f"{value:+.{places}f}" if signed else f"{value:.{places}f}"
    return text.replace("-", "−")


def correlation(value: float | None, places: int = 5) -> str:
    """A correlation; one that would be rounded to 1 is `> 0.99999`."""
    if value is not None and 1 - 0.5 * 10**-places <= value < 1:
        return f"> {1 - 10**-places:.{places}f}"
    return number(value, places, signed=False)


def estimate(one: Estimate, places: int = 3) -> str:
    """`+0.098 [+0.011, +0.184]`, at decimals and with signs that suit the unit; `undefined` where it is."""
    if one.estimate is None:
        return "undefined"
    if one.unit == "share of seeds":
        return f"{round(one.estimate * one.n)} of {one.n} [{number(one.low, 2, False)}, {number(one.high, 2, False)}]"
    if one.unit == "probability" and one.low is None:
        return f"{one.estimate:.4g}"

    def show(value: float | None) -> str:
        if one.unit == "correlation":
            return correlation(value)
        return number(value, places, signed=one.unit not in UNSIGNED)

    if one.shape == "unbounded":
        return f"{show(one.estimate)} (unbounded)"
    if one.low is None or one.high is None:
        return f"{show(one.estimate)} (no interval)"
    ends = f"{show(one.low)}, {show(one.high)}"
    return f"{show(one.estimate)} outside ({ends})" if one.shape == "complement" else f"{show(one.estimate)} [{ends}]"


def size(value: float | None) -> str:
    """The size of what a control has to make 0: `0 exactly`, or a power of ten with its unit."""
    if value is None:
        return "not measured"
    if value == 0:
        return "0 exactly"
    mantissa, _, exponent = f"{value:.0e}".partition("e")
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} · 10{power}"


def reason(one: Estimate) -> str:
    """Why something is undefined, with true minus signs."""
    return text(one.reason or "")


def blanks(ones: Iterable[Estimate]) -> tuple[str, ...]:
    """A note for a table that has undefined numbers: each reason once."""
    reasons = dict.fromkeys(reason(blank) for blank in ones if blank.estimate is None)
    return tuple(f"Undefined: {why}." for why in reasons)


def text(words: str) -> str:
    """Words with numbers in them, with true minus signs and `%` after a space."""
    return re.sub(r"(?<=\d)%", " %", re.sub(r"(?<=[\s(\[])-(?=\d)", "−", words))


def method(one: Estimate) -> str:
    """How an interval was found: level, method, n."""
    return f"{one.level:.0%}, {one.method}, n = {one.n}".replace("%", " %")


def direction(one: Estimate) -> str:
    """What a gap's interval says: overshoot, lag, or neither, by its sign alone."""
    if one.low is None or one.high is None:
        return "its sign cannot be read, for there is no interval"
    if one.low > 0:
        return "its interval lies above 0: from below is more contextual, the opposite of lag"
    if one.high < 0:
        return "its interval lies below 0: from below is less contextual"
    return "its interval contains 0, so its sign is not determined"


def relaxation(test: Equivalence) -> str:
    """What the equivalence test says."""
    return {
        Verdict.EQUIVALENT: "the gap has relaxed: its interval lies inside the margin",
        Verdict.DIFFERENT: "the gap has not relaxed: its interval lies wholly outside the margin",
    }.get(test.verdict, "whether the gap has relaxed is undetermined: its interval is neither inside nor outside")


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b, and c`."""
    if len(words) < 3:
        return " and ".join(words)
    return ", ".join(words[:-1]) + ", and " + words[-1]
