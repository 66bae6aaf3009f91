"""Optimizer against weights, for one pair.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import xarray as xr

from hyst_interp.analysis.histories import TWO_NETWORKS, Histories
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.errors import UserError
from hyst_interp.history.state import TrainingState
from hyst_interp.questions.transplant import measure, summary

if TYPE_CHECKING:
    import plotly.graph_objects as go


TRANSPLANT = (
    Column("updates", "updates"),
    Column("gap", "gap"),
    Column("weights", "weights"),
    Column("optimizer", "optimizer"),
    Column("interaction", "interaction"),
)


def transplant(pair: Histories, updates: Sequence[int] = measure.UPDATES) -> Rows:
    """Optimizer against weights: the gap at p0 after exchanging optimizer states, a row a number of updates.

    Every history is trained on at p0 with each of seven optimizer states (own, the other's, single moments, the
    anchor's, reset, zeroed) on the same batches. In logits: `gap`, `weights` and `optimizer` (which add up to it),
    `interaction`, the moments apart, and `shared: …`, the gap with one optimizer state in both. At 0 updates the
    optimizer's effect is exactly 0.

    Args:
        updates: numbers of updates after the transplant, increasing, from 0 on.

    Returns:
        Rows; `found` has dims (weights, optimizer, update, trial).

    Raises:
        UserError: a pair without its anchor, or a checkpoint of the three that keeps no optimizer state; another
            anchor than the recorded one; two that are not related as `questions.transplant` needs it.
    """
    below, above, anchor = _states(pair)
    pair.refuse_changed("a transplant", "below", "above", "anchor")
    moved = measure.transplant(below, above, anchor, updates, pair.data.trials, pair.below.provenance.hold or 0)
    notes = ["In logits; weights + optimizer = gap.", TWO_NETWORKS]
    table = summary.transplant_table(moved)
    draw = partial(of_transplant, moved, table)
    return Rows(summary.transplant_rows(table), TRANSPLANT, moved, draw, notes=notes)


def _states(pair: Histories) -> tuple[TrainingState, TrainingState, TrainingState]:
    if pair.anchor is None:
        raise UserError("a transplant needs the anchor that both histories started from; make the pair with anchor=….")
    for checkpoint in (pair.below, pair.above, pair.anchor):
        if checkpoint.moments is None:
            raise UserError(
                f"checkpoint '{checkpoint.directory}' keeps no optimizer state, and a transplant needs it in both"
                " histories and in their anchor; use checkpoints saved with it (save_optimizer in the study)."
            )
    for checkpoint in (pair.below, pair.above):
        recorded = checkpoint.provenance.anchor
        if recorded is not None and recorded.state != pair.anchor.manifest.state:
            raise UserError(
                f"'{pair.anchor.directory}' is not the anchor that '{checkpoint.directory}' records; give that one."
            )
    return pair.below.state(), pair.above.state(), pair.anchor.state()


def of_transplant(transplanted: xr.Dataset, table: xr.Dataset, stacked: bool = False) -> "go.Figure":
    """Transplant's Dataset, of one pair or of a run, and its table, as curves over updates."""
    from hyst_interp.questions.transplant.figure import transplant_course

    return transplant_course(summary.curves(transplanted), table, stacked)
