"""Statistics over a handful of networks: one shape for a number with its interval, and what n = 5 allows.

`Estimate` is what every other folder hands on. The rest are pure functions from samples to estimates or verdicts, in
numpy and scipy only. Nothing here knows what a seed, a margin or a network is, and nothing here is random:
no bootstrap.

This file is a lazy table of names (PEP 562): importing it imports neither numpy nor scipy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hyst_interp.statistics.equivalences import Equivalence, equivalence
    from hyst_interp.statistics.estimate import Estimate, undefined
    from hyst_interp.statistics.families import MaxT, max_t
    from hyst_interp.statistics.intervals import binomial, fisher_mean, min_max, over_trials, student_t
    from hyst_interp.statistics.powers import detectable, power, seeds_for, sign_flip_can_reject
    from hyst_interp.statistics.ratios import fieller, ratio_of_means
    from hyst_interp.statistics.sign_flips import SignFlip, sign_flip
    from hyst_interp.statistics.variances import VarianceComponents, variance_components

_HOME = {
    "Equivalence": "equivalences",
    "Estimate": "estimate",
    "MaxT": "families",
    "SignFlip": "sign_flips",
    "VarianceComponents": "variances",
    "binomial": "intervals",
    "detectable": "powers",
    "equivalence": "equivalences",
    "fieller": "ratios",
    "fisher_mean": "intervals",
    "max_t": "families",
    "min_max": "intervals",
    "over_trials": "intervals",
    "power": "powers",
    "ratio_of_means": "ratios",
    "seeds_for": "powers",
    "sign_flip": "sign_flips",
    "sign_flip_can_reject": "powers",
    "student_t": "intervals",
    "undefined": "estimate",
    "variance_components": "variances",
}

__all__ = [
    "Equivalence",
    "Estimate",
    "MaxT",
    "SignFlip",
    "VarianceComponents",
    "binomial",
    "detectable",
    "equivalence",
    "fieller",
    "fisher_mean",
    "max_t",
    "min_max",
    "over_trials",
    "power",
    "ratio_of_means",
    "seeds_for",
    "sign_flip",
    "sign_flip_can_reject",
    "student_t",
    "undefined",
    "variance_components",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
