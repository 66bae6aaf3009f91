"""Optimizer against weights: hold each history's weights at p0 with another optimizer state, and watch the gap.

Weights {below, above} × the optimizer states of `optimizer_cells.CELLS`, every cell on the same hold batches. Moments
do not answer anything themselves, so at 0 updates the cells of one history agree exactly: the control. From then on,
what a cell changes is what the optimizer carried. `own` is the untouched run.

This module runs the cells. What is weight and what is optimizer is `decomposition`'s to say.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError
from hyst_interp.history.advance import trajectory
from hyst_interp.history.measured import measured
from hyst_interp.history.schedule import hold_schedule
from hyst_interp.history.state import TrainingState
from hyst_interp.questions.transplant.optimizer_cells import (
    CELLS,
    WHAT,
    kept_moments,
    refuse_unrelated,
    transplanted,
)
from hyst_interp.tasks.trials import Trials

UPDATES = (0, 1, 2, 5, 10, 25, 50, 100)
"""Updates after the transplant at which the gap is looked at, where nothing else is asked for."""


def transplant(
    below: TrainingState,
    above: TrainingState,
    anchor: TrainingState,
    updates: Sequence[int],
    trials: Trials,
    hold: int = 0,
) -> xr.Dataset:
    """Margins of every cell after every number of updates at p0.

    Costs 2 · len(CELLS) holds of max(updates) updates.

    Args:
        below, above: branches of one anchor, seed, and data order, at one position.
        anchor: their common ancestor.
        updates: numbers of updates since the transplant, increasing, from 0 on.
        trials: conflict trials, the same for every cell.
        hold: updates since arrival at which both stand; the hold batches go on from there.

    Returns:
        `margin` in logits, dims (weights, optimizer, update, trial); `step` (weights, optimizer), the optimizer's age
        in each cell at 0 updates (a variable, for seeds have anchors of different age); the coordinate `what`
        (optimizer) says each cell in words.

    Raises:
        UserError: states without optimizer state, in the other order, or not related as said; impossible updates.
    """
    refuse_unrelated(below, above, anchor)
    at = [int(update) for update in updates]
    if not at or at != sorted(set(at)) or at[0] < 0 or hold < 0:
        raise UserError(f"updates {at} from hold {hold} cannot be taken; give increasing numbers from 0 on.")
    setup = below.setup
    schedule = hold_schedule(hold + at[-1], setup.p0).take(slice(hold, None))
    pair = {"below": (below, above), "above": (above, below)}
    margins = np.empty((len(BRANCHES), len(CELLS), len(at), len(trials)), np.float32)
    steps = np.empty(margins.shape[:2], np.int64)
    for row, branch in enumerate(BRANCHES):
        own, other = pair[branch]
        for column, cell in enumerate(CELLS):
            start = transplanted(own, other, anchor, cell)
            steps[row, column] = start.step
            for index, state in enumerate(trajectory(start, schedule, at)):
                margins[row, column, index] = measured(state, trials)["margin"]
    kept = kept_moments(setup.training.optimizer)
    return xr.Dataset(
        {
            "margin": (
                ("weights", "optimizer", "update", "trial"),
                margins,
                {"units": "logits", "method": "margin after updates at p0 on the hold's batches"},
            ),
            "step": (
                ("weights", "optimizer"),
                steps,
                {"units": "updates", "long_name": "the optimizer's age at 0 updates"},
            ),
        },
        coords={
            "weights": list(BRANCHES),
            "optimizer": list(CELLS),
            "what": ("optimizer", [WHAT[cell] for cell in CELLS]),
            "update": ("update", at, {"units": "updates", "long_name": "updates after the transplant"}),
        },
        attrs={"moments": ", ".join(kept) or "none", "hold": hold, "name": setup.training.optimizer.name},
    )
