"""The gap of one pair of networks, as one number with its interval."""

import torch

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.analysis.summary import estimate_of
from hyst_interp.questions.gap import measure
from hyst_interp.statistics import Estimate


def gap(pair: PairData) -> Estimate:
    """The mean gap of one pair, with an interval over trials: it speaks of these two networks only."""
    with torch.no_grad():
        return estimate_of(measure.gap(measure.pair_behaviour(pair)), "logits")
