"""The one kind of error that a user can mend.

`UserError` is raised for a wrong argument, file, or configuration: its text is one sentence that says what is wrong,
the value, and the remedy. The command line prints that sentence alone and exits with status 2; a notebook shows it as
an ordinary exception. Faults of the package itself are never raised as `UserError`. What is said of a user's weights
and does not stop the work is a `WeightsWarning`, shown as one line on standard error.
"""

from collections.abc import Sequence


class UserError(ValueError):
    """Something that the user can mend; `str(error)` is one sentence: what, the value, the remedy."""


class WeightsWarning(UserWarning):
    """Something that a user should know of weights that were taken nonetheless: a conversion, or a folding."""


def refuse_unknown(name: str, value: str, allowed: Sequence[str]) -> None:
    """UserError unless `value` is one of `allowed`."""
    if value not in allowed:
        raise UserError(f"{name} '{value}' does not exist; use one of {', '.join(allowed)}.")
