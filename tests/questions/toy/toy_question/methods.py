"""The toy's method of Pair."""

from hyst_interp.analysis.histories import Histories
from hyst_interp.analysis.pair_data import PairData
from hyst_interp.questions.gap.measure import pair_behaviour


def widths(pair: PairData) -> tuple[float, float]:
    """Standard deviation of the margins of either network, in logits."""
    margin = pair_behaviour(pair)["margin"]
    return float(margin[0].std()), float(margin[1].std())


def toy_width(pair: Histories) -> tuple[float, float]:
    """Standard deviation of the margins of either network, in logits."""
    return widths(pair.data)
