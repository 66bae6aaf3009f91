"""How large the gap between two histories is, and how the prompt matters.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

import xarray as xr

from hyst_interp.analysis.histories import Histories
from hyst_interp.analysis.summary import estimate_of, records, summarise
from hyst_interp.questions.gap import measure, strata
from hyst_interp.statistics import Estimate

BEHAVIOUR = ("behaviour",)
"""Key of both networks' behaviour among what a pair keeps."""


def measured(pair: Histories) -> xr.Dataset:
    """Behaviour of both networks on the pair's trials, dims (branch, trial), measured once."""
    return pair.kept(BEHAVIOUR, lambda: measure.pair_behaviour(pair.data))


def margins(pair: Histories) -> xr.Dataset:
    """Margins, their split, and probabilities, dims (branch, trial), in logits and probabilities."""
    return measured(pair)


def gap(pair: Histories) -> Estimate:
    """Mean margin(from below) − mean margin(from above) in logits, with an interval over trials."""
    return estimate_of(measure.gap(measured(pair)), "logits")


def mean_margins(pair: Histories) -> dict[str, Estimate]:
    """Mean margin of each history in logits, with an interval over trials."""
    return {row["branch"]: row["estimate"] for row in records(summarise(measured(pair)["margin"], "logits"))}


def by_stratum(pair: Histories) -> dict[str, Estimate]:
    """The gap within each stratum of the prompt (fixed answer present or absent, contextual answer repeated)."""
    return {row["stratum"]: row["estimate"] for row in records(strata.by_stratum(measured(pair)))}


def by_key(pair: Histories) -> xr.DataArray:
    """Mean gap in logits for every queried key, dim `key`."""
    return measure.by_key(measured(pair))
