"""Where the scatter of a gap comes from: training seeds, data orders, trials; and what more of each would buy.

The model is y[s, o, t] = μ + seed[s] + order[s, o] + trial[s, t] + rest[s, o, t]: data orders and trials are crossed
within a seed, for every order is measured on the seed's own trials. Components are estimated by the method of moments
from the mean squares of that layout (Searle, Casella & McCulloch 1992, *Variance Components*, ch. 4). An estimate may
be negative, which says "too small to see", and is kept as it is; a standard error takes it for 0.

No interval is given: with a handful of seeds one of the seeds' variance would reach over an order of magnitude.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Real


@dataclass(frozen=True)
class VarianceComponents:
    """Variance components in squared units of the values, and the design that they were estimated from."""

    seed: float
    """Between training seeds."""
    order: float
    """Between data orders of one seed."""
    trial: float
    """Between trials, alike in all orders of a seed."""
    rest: float
    """What a trial does in one order and not in another."""
    n_seeds: int
    n_orders: int
    n_trials: int

    def standard_error(self, seeds: int, orders: int, trials: int) -> float:
        """Standard error of the mean over `seeds` seeds, each with `orders` orders on `trials` trials of its own.

        √((seed + order/orders + trial/trials + rest/(orders · trials)) / seeds), negative components taken for 0.

        Raises:
            ValueError: a count below 1.
        """
        if min(seeds, orders, trials) < 1:
            raise ValueError(f"the design has {seeds} seeds, {orders} orders, {trials} trials; give at least 1 of each")
        seed, order, trial, rest = (max(value, 0.0) for value in (self.seed, self.order, self.trial, self.rest))
        return math.sqrt((seed + order / orders + trial / trials + rest / (orders * trials)) / seeds)

    def purchases(self) -> dict[str, float]:
        """Standard error `as it is`, and after doubling the `seeds`, the `orders`, or the `trials`."""
        s, o, t = self.n_seeds, self.n_orders, self.n_trials
        return {
            "as it is": self.standard_error(s, o, t),
            "seeds": self.standard_error(2 * s, o, t),
            "orders": self.standard_error(s, 2 * o, t),
            "trials": self.standard_error(s, o, 2 * t),
        }


def variance_components(values: Real[np.ndarray, "seed order trial"]) -> VarianceComponents:
    """Variance components of `values`, any unit.

    Raises:
        ValueError: fewer than two seeds, orders, or trials; NaN or infinite values (counted).
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 3 or min(array.shape) < 2:
        raise ValueError(f"values have shape {array.shape}; give at least two seeds, two orders, and two trials")
    bad = int(np.count_nonzero(~np.isfinite(array)))
    if bad:
        raise ValueError(f"values holds {bad} of {array.size} values that are NaN or infinite; leave those trials out")
    n_seeds, n_orders, n_trials = array.shape
    seed_mean = array.mean((1, 2))
    order_mean, trial_mean = array.mean(2), array.mean(1)
    residual = array - order_mean[:, :, None] - trial_mean[:, None, :] + seed_mean[:, None, None]
    ms_rest = (residual**2).sum() / (n_seeds * (n_orders - 1) * (n_trials - 1))
    ms_order = n_trials * ((order_mean - seed_mean[:, None]) ** 2).sum() / (n_seeds * (n_orders - 1))
    ms_trial = n_orders * ((trial_mean - seed_mean[:, None]) ** 2).sum() / (n_seeds * (n_trials - 1))
    order = (ms_order - ms_rest) / n_trials
    trial = (ms_trial - ms_rest) / n_orders
    within = order / n_orders + trial / n_trials + ms_rest / (n_orders * n_trials)
    return VarianceComponents(
        seed=float(seed_mean.var(ddof=1) - within),
        order=float(order),
        trial=float(trial),
        rest=float(ms_rest),
        n_seeds=n_seeds,
        n_orders=n_orders,
        n_trials=n_trials,
    )
