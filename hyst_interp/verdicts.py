"""The vocabulary of verdicts: every word by which a rule reads an interval, in one enumeration.

A member is equal to its text, which is what JSON, tables, and pages print; code compares members and never looks into a
sentence. The rules stand where the intervals are: equivalence in `statistics/`, claims in `claims.py`, agreement of two
estimates in `analysis/`, and each question's own beside its table.
"""

from enum import StrEnum


class Verdict(StrEnum):
    """What a rule says; the value is how it is printed."""

    UNDETERMINED = "undetermined"
    """The interval allows either; every rule has it."""

    AGREES = "agrees"
    """A claim: as in the paper."""
    DIFFERS = "differs"
    """A claim: not as in the paper."""

    EQUIVALENT = "equivalent"
    """The interval lies inside the margin of equivalence."""
    DIFFERENT = "different"
    """The interval lies wholly beyond that margin."""

    AGREE = "agree"
    """Two estimates: surely of one sign, intervals overlapping."""
    SAME_SIGN = "same sign"
    """Two estimates: surely of one sign, intervals apart."""
    OPPOSITE_SIGNS = "opposite signs"
    """Two estimates: surely on opposite sides of 0."""

    ARRIVAL = "arrival"
    """Where a relaxation starts, so that there is nothing to compare."""
    LATER = "later"
    """The second of two relaxes later."""
    EARLIER = "earlier"
    """The second of two relaxes earlier."""
    TOGETHER = "together"
    """Both have the same left, within the rule's tolerance."""

    TRUSTED = "trusted"
    """An estimator fulfils every condition of its rule."""
    NOT_TRUSTED = "not trusted"
    """It fails one, and the reason says which."""

    MOSTLY_WEIGHTS = "mostly the weights"
    """Of two parts that add up to the gap, the weights' is surely the larger."""
    MOSTLY_OPTIMIZER = "mostly the optimizer"
    """The optimizer's is surely the larger."""

    YES = "yes"
    """A question's answer."""
    NO = "no"
    """A question's answer."""

    TRANSIENT_OVERSHOOT = "transient overshoot"
    """A run: a gap above 0 on arrival, equivalent to 0 at the last hold."""
    TRANSIENT_LAG = "transient lag"
    """A run: a gap below 0 on arrival, equivalent to 0 at the last hold."""
    PERSISTENT = "persistent branch"
    """A run: a gap on one side of 0 on arrival and beyond the margin at the last hold."""

    def __repr__(self) -> str:
        return repr(self.value)

    @property
    def transient(self) -> bool:
        """Whether a run's gap has a sign on arrival and is equivalent to 0 at the last hold."""
        return self in (Verdict.TRANSIENT_OVERSHOOT, Verdict.TRANSIENT_LAG)


CLAIM_VERDICTS = (Verdict.AGREES, Verdict.DIFFERS, Verdict.UNDETERMINED)
AGREEMENTS = (Verdict.AGREE, Verdict.SAME_SIGN, Verdict.OPPOSITE_SIGNS, Verdict.UNDETERMINED)
RELAXATIONS = (Verdict.LATER, Verdict.EARLIER, Verdict.TOGETHER, Verdict.UNDETERMINED)
