"""What groups of weights carry of one pair's gap.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from functools import partial
from typing import TYPE_CHECKING

import xarray as xr

from hyst_interp.analysis.histories import TWO_NETWORKS, Histories
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.analysis.summary import from_estimates
from hyst_interp.questions.gap.methods import gap
from hyst_interp.questions.weights import measure
from hyst_interp.questions.weights.summary import weight_rows, weight_table
from hyst_interp.statistics import Estimate

if TYPE_CHECKING:
    import plotly.graph_objects as go


WEIGHTS = (
    Column("group", "weights"),
    Column("logits_moved", "logits moved"),
    Column("share", "share of the gap"),
    Column("all_but_moved", "moved by all others"),
)


def weights(pair: Histories) -> Rows:
    """What moving each group of weights from one history into the other moves of the gap; no optimizer is needed.

    A row a family and a group (a head's QK and OV, MLP in and out, embeddings, LayerNorms, …): in logits
    `logits_moved` alone (mean of both directions) and `all_but_moved`, what all other weights move together; the
    `share` of the gap; and each direction. `found` has dims (move, branch, group, trial).

    Raises:
        UserError: networks of different shapes.
    """
    pair.refuse_changed("moving weights", "below", "above")
    setup = pair.below.manifest.setup
    moved = measure.weight_patching(setup, pair.below.weights, pair.above.weights, pair.data.trials)
    table = weight_table(moved)
    return Rows(weight_rows(table), WEIGHTS, moved, partial(of_weights, table, gap(pair)), notes=[TWO_NETWORKS])


def of_weights(table: xr.Dataset, whole: Estimate, stacked: bool = False) -> "go.Figure":
    """The table of moved weights as dots."""
    from hyst_interp.questions.weights.figure import weight_move_dots

    return weight_move_dots(table, from_estimates([whole], "cell").isel(cell=0), stacked)
