"""What moving a group of weights between the histories moves of the gap.

A receiver gets one group from the other history, or all groups but one. Each is done in both directions; as with
donors in `comparison.attenuation`, the headline is the mean of the two and half their difference is the interaction.

The two questions meet: from below with everything but a group from above *is* from above with that group from below.
So what all but one leave of the gap in one direction is, bit for bit, what the group alone moves in the other: the
group first to go and the group last to go. Both stand in the results, from one measurement. Their mean over directions
weighs first and last place equally, and is the group's own number; the sum of these over groups is the gap only where
groups do not interact, so the sum is reported beside it.
"""

import numpy as np
import xarray as xr

from hyst_interp.analysis.exchange import exchanged
from hyst_interp.analysis.replicates import as_arrays, over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.config import SetUp
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.history.measured import measured_weights
from hyst_interp.model.build import Weights
from hyst_interp.questions.weights.weight_groups import distance, families, groups, moved, refuse_unlike
from hyst_interp.statistics import Estimate, over_trials, ratio_of_means, undefined
from hyst_interp.tasks.trials import Trials

QUANTITIES = (
    "logits_moved",
    "into_below",
    "into_above",
    "all_but_moved",
    "all_but_into_below",
    "all_but_into_above",
)
"""Estimates of a row that `row_arrays` hands to a figure."""
COORDS = {"name": "group", "family": "family", "level": "level"}
"""Coordinate of the results → key of a row."""
SUMS = ("sum over groups", "sum over families")
MOVES = ("one", "all but one")
LEVELS = ("group", "family")
"""The fine partition and the coarse one."""


def weight_moves(setup: SetUp, below: Weights, above: Weights, trials: Trials) -> xr.Dataset:
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
    rows = [("group", one) for one in groups(setup.model)] + [("family", one) for one in families(setup.model)]
    pair = {"below": (below, above), "above": (above, below)}
    margin, complete = (np.empty((len(BRANCHES), len(trials)), np.float32) for _ in range(2))
    after = np.empty((len(MOVES), len(BRANCHES), len(rows), len(trials)), np.float32)
    for index, branch in enumerate(BRANCHES):
        receiver, donor = pair[branch]
        margin[index] = measured_weights(setup, receiver, trials)["margin"]
        complete[index] = measured_weights(setup, moved(receiver, donor, groups(setup.model)), trials)["margin"]
        for row, (_, group) in enumerate(rows):
            found = measured_weights(setup, moved(receiver, donor, [group]), trials)["margin"]
            after[0, index, row] = found
            after[1, 1 - index, row] = found
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
                np.array([distance(below, above, one) for _, one in rows]),
                {"units": "weight", "method": "Euclidean distance of the two histories' weights"},
            ),
        },
        coords={
            "move": list(MOVES),
            "branch": list(BRANCHES),
            "group": np.arange(len(rows)),
            "name": ("group", [one.name for _, one in rows]),
            "family": ("group", [one.family for _, one in rows]),
            "level": ("group", [level for level, _ in rows]),
        },
    )


def move_rows(found: xr.Dataset) -> list[Row]:
    """One row a group and a family, then one for the sum of either; estimates over seeds, or over trials of one pair.

    Keys: `group`, `family`, `level`; `logits_moved` (alone, mean of both directions), its `share` of the gap,
    `into_below`, `into_above`, `interaction`; and, but for the sums, `all_but_moved`, `all_but_into_below`,
    `all_but_into_above`: what all but it move together.

    Args:
        found: `weight_moves`' Dataset, of one pair, or with dims `seed` and `order`, which are averaged over orders.
    """
    values = exchanged(found)
    over = "seeds" if "seed" in values.dims else "trials"
    if over == "seeds":
        values = xr.Dataset({name: per_seed(one) for name, one in values.data_vars.items()})
    alone, rest = values.sel(move="one"), values.sel(move="all but one")
    rows = [
        _row(alone.isel(group=index), over) | _all_but(rest.isel(group=index), over)
        for index in range(found.sizes["group"])
    ]
    for level, name in zip(LEVELS, SUMS, strict=True):
        members = np.flatnonzero(alone["level"].values == level)
        summed = alone.isel(group=members).sum("group").assign(gap=alone["gap"])
        rows.append(_row(summed.assign_coords(name=name, family="sum", level=level), over))
    return rows


def row_arrays(rows: list[Row]) -> xr.Dataset:
    """Rows as labelled arrays for a figure: `estimate`, `low`, `high`, dims (quantity, group); NaN where undefined.

    `name`, `family`, and `level` are coordinates of `group`; `share` is the share of the gap as text.
    """
    blank = undefined("not measured", "logits", 0)
    columns = [as_arrays([row.get(key, blank) for row in rows], "group") for key in QUANTITIES]
    joined = xr.concat(columns, dim="quantity").assign_coords(quantity=list(QUANTITIES))
    words: dict[str, object] = {name: ("group", [str(row[key]) for row in rows]) for name, key in COORDS.items()}
    words["share"] = ("group", [_share(row["share"]) for row in rows])
    return joined.assign_coords(words).assign_attrs(columns[0].attrs)


def _row(one: xr.Dataset, over: str) -> Row:
    row: Row = {key: str(one[name].values) for name, key in COORDS.items()}
    row["logits_moved"] = _estimate(one["moved"], over)
    row["share"] = ratio_of_means(one["moved"].values, one["gap"].values, unit="share of the gap", over=over)
    return row | {key: _estimate(one[key], over) for key in ("into_below", "into_above", "interaction")}


def _all_but(one: xr.Dataset, over: str) -> Row:
    return {f"all_but_{key}": _estimate(one[key], over) for key in ("moved", "into_below", "into_above")}


def _estimate(values: xr.DataArray, over: str) -> Estimate:
    return over_trials(values.values, "logits") if over == "trials" else over_seeds(values)


def _share(one: Estimate) -> str:
    """Two decimals: `+0.24 [+0.22, +0.26]`; a small group's share is 0.00, not a power of ten."""
    if one.estimate is None or one.low is None or one.high is None:
        return "undefined"
    number, low, high = (f"{round(value, 2) + 0.0:+.2f}" for value in (one.estimate, one.low, one.high))
    return f"{number} [{low}, {high}]"
