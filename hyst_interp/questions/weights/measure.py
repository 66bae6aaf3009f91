"""What moving a group of weights between the histories moves of the gap.

A receiver gets one group from the other history, or all groups but one. Each is done in both directions; as with
donors in `attenuation`, the headline is the mean of the two and half their difference is the interaction.

The two questions meet: from below with everything but a group from above *is* from above with that group from below.
So what all but one leave of the gap in one direction is, bit for bit, what the group alone moves in the other: the
group first to go and the group last to go. Both stand in the results, from one measurement. Their mean over directions
weighs first and last place equally, and is the group's own number; the sum of these over groups is the gap only where
groups do not interact, so the sum is reported beside it.
"""

import numpy as np
import xarray as xr

from hyst_interp.config import SetUp
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.history.measured import measured_weights
from hyst_interp.model.build import Weights
from hyst_interp.questions.weights.weight_groups import distance, families, groups, moved, refuse_unlike
from hyst_interp.tasks.trials import Trials

MOVES = ("one", "all but one")


def weight_patching(setup: SetUp, below: Weights, above: Weights, trials: Trials) -> xr.Dataset:
    """Margins of every network with one group, or all but one, from the other history. No optimizer state is needed.

    Costs 2 forwards a group and 4 for the controls.

    Returns:
        `margin` (branch, trial) of the histories themselves; `margin_after` (move, branch, group, trial), where
        `branch` is the receiver; `margin_all` (branch, trial), all groups moved: the other history's margins, exactly;
        `distance` (group), how far apart the histories' weights are. Coordinates `level` and `family` of `group`: the
        fine groups first, then the families.

    Raises:
        UserError: networks of different shapes.
    """
    refuse_unlike(below, above)
    rows = [("group", weight_group) for weight_group in groups(setup.model)] + [
        ("family", weight_group) for weight_group in families(setup.model)
    ]
    pair = {"below": (below, above), "above": (above, below)}
    margin, complete = (np.empty((len(BRANCHES), len(trials)), np.float32) for _ in range(2))
    after = np.empty((len(MOVES), len(BRANCHES), len(rows), len(trials)), np.float32)
    for index, branch in enumerate(BRANCHES):
        receiver, donor = pair[branch]
        margin[index] = measured_weights(setup, receiver, trials)["margin"]
        complete[index] = measured_weights(setup, moved(receiver, donor, groups(setup.model)), trials)["margin"]
        for row, (_, group) in enumerate(rows):
            one_moved = measured_weights(setup, moved(receiver, donor, [group]), trials)["margin"]
            after[0, index, row] = one_moved
            after[1, 1 - index, row] = one_moved  # all but the group, seen from the other history
    each = {"units": "logits"}
    return xr.Dataset(
        {
            "margin": (("branch", "trial"), margin, {**each, "method": "margin before any move"}),
            "margin_after": (
                ("move", "branch", "group", "trial"),
                after,
                {**each, "method": "margin of the receiver with weights of the other history"},
            ),
            "margin_all": (("branch", "trial"), complete, {**each, "method": "margin with all groups moved"}),
            "distance": (
                ("group",),
                np.array([distance(below, above, weight_group) for _, weight_group in rows]),
                {"units": "weight", "method": "Euclidean distance of the two histories' weights"},
            ),
        },
        coords={
            "move": list(MOVES),
            "branch": list(BRANCHES),
            "group": np.arange(len(rows)),
            "name": ("group", [weight_group.name for _, weight_group in rows]),
            "family": ("group", [weight_group.family for _, weight_group in rows]),
            "level": ("group", [level for level, _ in rows]),
        },
    )
