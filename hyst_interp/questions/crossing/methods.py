"""Where content of one history suffices in the other, and where it is needed, for one pair.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from functools import partial
from typing import TYPE_CHECKING

import xarray as xr

from hyst_interp.analysis.histories import TWO_NETWORKS, Histories
from hyst_interp.analysis.replicates import bare
from hyst_interp.analysis.rows import Column, Row, Rows
from hyst_interp.questions.crossing import layer_swap, measure
from hyst_interp.questions.gap.methods import gap
from hyst_interp.statistics import Estimate

if TYPE_CHECKING:
    import plotly.graph_objects as go


RUNGS = (
    Column("rung", "the donor's up to"),
    Column("moved", "logits moved"),
    Column("added", "added"),
    Column("added_share", "share of the gap"),
)


def crossing(pair: Histories, site: str = "resid_pre") -> xr.Dataset:
    """Content of each history moved into the other, cell by cell: where it suffices, and where it is needed.

    Variables `estimate`, `low`, `high` in logits, dims (effect, layer[, head], role): `sufficient`, `necessary`,
    their difference `asymmetry`, and `moved`, their mean; roles and `everywhere`. `attrs["gap"]` is the gap as
    text. `hi.figures.crossing_map(….["estimate"])` draws it.

    Args:
        site: `resid_pre`, `result`, or `mlp_out`.

    Raises:
        UserError: a site that cannot be moved, or that the model does not have; networks of different shapes.
    """
    table = measure.crossing_table(measure.crossing(pair.data, site))
    return table.assign({name: one.assign_attrs(table.attrs) for name, one in table.data_vars.items()})


def prefix_ladder(pair: Histories) -> Rows:
    """Along the depth: how much of the gap is moved when everything up to a cut is the donor's, a row a rung.

    In logits `moved` (0 at the first rung and the gap at the last, exactly) and `added` by the rung, mean of both
    directions, and each direction; `added_share` of the gap. `found["end_error"]` is the control: 0 exactly.

    Raises:
        UserError: networks of different shapes.
    """
    ladder = layer_swap.prefix_ladder(pair.data)
    rows = layer_swap.ladder_rows(ladder)
    return Rows(rows, RUNGS, ladder, partial(of_ladder, rows, gap(pair)), notes=[TWO_NETWORKS])


def of_ladder(rows: list[Row], whole: Estimate, stacked: bool = False) -> "go.Figure":
    """The ladder as steps along the depth."""
    from hyst_interp.questions.crossing.figure import ladder_steps

    return ladder_steps(layer_swap.ladder_arrays(rows), bare(whole), stacked)
