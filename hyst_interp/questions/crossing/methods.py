"""Where content of one history suffices in the other, and where it is needed, for one pair.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from functools import partial
from typing import TYPE_CHECKING

import xarray as xr

from hyst_interp.analysis.histories import TWO_NETWORKS, Histories
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.analysis.summary import from_estimates, records
from hyst_interp.questions.crossing.layer_swap import layer_swap as swap_layers
from hyst_interp.questions.crossing.measure import cross_model_patching
from hyst_interp.questions.crossing.summary import crossing_table, layer_swap_table
from hyst_interp.questions.gap.methods import gap
from hyst_interp.statistics import Estimate

if TYPE_CHECKING:
    import plotly.graph_objects as go


DEPTHS = (
    Column("rung", "the donor's up to"),
    Column("moved", "logits moved"),
    Column("added", "added"),
    Column("added_share", "share of the gap"),
)


def crossing(pair: Histories, site: str = "resid_pre") -> xr.Dataset:
    """Content of each history moved into the other, cell by cell: where it suffices, and where it is needed.

    A table in logits, dims (effect, layer[, head], role), with `estimate`, `low`, `high`, and what else an estimate
    has: `sufficient`, `necessary`, their difference `asymmetry`, and `moved`, their mean; roles and `everywhere`.
    `attrs["gap"]` is the gap as text. `hi.figures.crossing_map` draws it.

    Args:
        site: `resid_pre`, `result`, or `mlp_out`.

    Raises:
        UserError: a site that cannot be moved, or that the model does not have; networks of different shapes.
    """
    return crossing_table(cross_model_patching(pair.data, site))


def layer_swap(pair: Histories) -> Rows:
    """Along the depth: how much of the gap is moved when everything up to a depth is the donor's, a row a depth.

    `rung` names the depth. In logits `moved` (0 at the first depth and the gap at the last, exactly) and `added` by
    it, mean of both directions, and each direction; `added_share` of the gap. `found["end_error"]` is the
    control: 0 exactly.

    Raises:
        UserError: networks of different shapes.
    """
    swapped = swap_layers(pair.data)
    table = layer_swap_table(swapped)
    return Rows(records(table), DEPTHS, swapped, partial(of_layer_swap, table, gap(pair)), notes=[TWO_NETWORKS])


def of_layer_swap(table: xr.Dataset, whole: Estimate, stacked: bool = False) -> "go.Figure":
    """The table of swapped layers as steps along the depth."""
    from hyst_interp.questions.crossing.figure import layer_swap_steps

    return layer_swap_steps(table, from_estimates([whole], "cell").isel(cell=0), stacked)
