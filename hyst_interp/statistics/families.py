"""Families of tests: many components, few seeds, and the error rate of the whole family held (max-T).

If a seed's whole row of values is symmetric about 0, all signs of a row can be flipped together, which keeps the
dependence between components. The adjusted p of a component is the share of all 2**n flips whose *largest* |t| over
components reaches its own (Westfall & Young 1993, *Resampling-Based Multiple Testing*, ch. 2). All flips are
enumerated, so p is exact. With n seeds no p can fall below 2/2**n: at n = 5 nothing reaches 0.05, whatever the data,
which `powerless` says.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Real

MOST_SEEDS = 18
"""2**17 rows of components take about a second."""

_TIE = 1e-10


@dataclass(frozen=True)
class MaxT:
    """Adjusted p-values of several components, tested together."""

    p: Float[np.ndarray, " component"]
    """Adjusted, two-sided: k / 2**n for a whole number k."""
    t: Float[np.ndarray, " component"]
    """Student's t of each component; infinite where its values have no spread but a mean."""
    smallest: float
    """The smallest p that n seeds can reach: 2 / 2**n."""
    n: int
    """Number of seeds."""

    def powerless(self, alpha: float = 0.05) -> bool:
        """Whether no component could reach `alpha`, whatever the data."""
        return self.smallest > alpha


def max_t(values: Real[np.ndarray, "seed component"]) -> MaxT:
    """Single-step max-T of the mean of every component, by full enumeration.

    Enumerated is |cosine| between a column and the flipped ones, of which |t| is an increasing function
    (t² = (n − 1) c²/(1 − c²)): it has no pole where a column has no spread. Equal up to 1e-10 counts as equal.

    Args:
        values: one row a seed, one column a component, any unit. A column of zeros has t 0 and p 1.

    Raises:
        ValueError: fewer than 2 or more than 18 seeds, no component, NaN or infinite values (counted).
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or not 2 <= len(array) <= MOST_SEEDS or array.shape[1] < 1:
        raise ValueError(f"values have shape {array.shape}; give between 2 and {MOST_SEEDS} seeds, by components")
    bad = int(np.count_nonzero(~np.isfinite(array)))
    if bad:
        raise ValueError(f"values holds {bad} of {array.size} values that are NaN or infinite; leave components out")
    n = len(array)
    length = np.sqrt(n * (array**2).sum(0))
    unit = np.divide(array, length, out=np.zeros_like(array), where=length > 0)
    # A flip and its mirror image have the same |t|: fix the first sign.
    bits = np.arange(2 ** (n - 1))[:, None] >> np.arange(n - 1)
    signs = np.concatenate([np.ones((len(bits), 1)), 1.0 - 2.0 * (bits & 1)], axis=1)
    largest = np.sort(np.abs(signs @ unit).max(1))
    cosine = unit.sum(0)
    reached = len(largest) - np.searchsorted(largest, np.abs(cosine) - _TIE)
    spread = np.maximum(1 - cosine**2, 0.0)
    spread[spread < 1e-15] = 0.0
    with np.errstate(divide="ignore"):
        t = cosine * np.sqrt(n - 1) / np.sqrt(spread)
    return MaxT(reached / len(largest), t, 2 / 2**n, n)
