"""A sample: the one-dimensional, finite values that every statistic here starts from.

The idea: refuse what no formula can mend (NaN, several axes) in one place and in one voice. A NaN that is silently
dropped changes n, and n is what an interval lives on. It computes nothing.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Real

Values = Real[np.ndarray, " seed"] | Sequence[float | int]
"""One number a replicate (a seed, as a rule): an array with one axis, or a plain list."""


def sample(values: Values, name: str = "values") -> Float[np.ndarray, " seed"]:
    """The values as float64.

    Args:
        values: shape (seed,), any unit; may be empty.
        name: what to call them in an error.

    Raises:
        ValueError: not one axis, or NaN or infinite values among them (the message counts them).
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; give one axis: one value a replicate")
    bad = int(np.count_nonzero(~np.isfinite(array)))
    if bad:
        raise ValueError(f"{name} holds {bad} of {array.size} values that are NaN or infinite; leave them out")
    return array


def check_level(level: float) -> float:
    """A confidence level strictly between 0 and 1, given back.

    Raises:
        ValueError: `level` outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a share strictly between 0 and 1, such as 0.95")
    return float(level)
