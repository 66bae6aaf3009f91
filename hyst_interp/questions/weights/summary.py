"""Moved weights as numbers with intervals: one table of every group, every family, and the sum of either.

What a group moves alone need not add up to the gap, so the sums of single groups are rows of their own. Intervals are
over seeds, or over the trials of one pair.
"""

import numpy as np
import xarray as xr

from hyst_interp.analysis.exchange import exchanged
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import join, records, shares, summarise

LEVELS = ("group", "family")
"""The fine partition and the coarse one."""
SUMS = ("sum over groups", "sum over families")
ALL_BUT = ("moved", "into_below", "into_above")
"""What is told of all weights but a group, too."""


def weight_table(moved: xr.Dataset) -> xr.Dataset:
    """The table of every group and family, then of the sum of either, dims (quantity, group).

    Quantities: `logits_moved` (alone, mean of both directions), its `share` of the gap, `into_below`, `into_above`,
    `interaction`; and, but for the sums, `all_but_moved`, `all_but_into_below`, `all_but_into_above`: what all but it
    move together. `group` holds names, which groups and families may share; its coordinates `family` (`sum` for sums)
    and `partition` (one of `LEVELS`) tell them apart.

    Args:
        moved: `weight_patching`'s Dataset, of one pair, or with dims `seed` and `order`.
    """
    values = exchanged(moved)
    values = values.assign_coords(group=values["name"].values).drop_vars("name").rename(level="partition")
    alone, rest = (values.drop_vars("gap").sel(move=move, drop=True) for move in ("one", "all but one"))
    alone = xr.concat([alone, *(_sum(alone, level, name) for level, name in zip(LEVELS, SUMS, strict=True))], "group")
    tables = {"logits_moved": summarise(alone["moved"]), "share": shares(alone["moved"], values["gap"])}
    tables |= {name: summarise(alone[name]) for name in ("into_below", "into_above", "interaction")}
    complete = rest.pad(group=(0, len(SUMS)))
    tables |= {f"all_but_{name}": summarise(complete[name].assign_coords(alone["group"].coords)) for name in ALL_BUT}
    return join(tables)


def _sum(alone: xr.Dataset, level: str, name: str) -> xr.Dataset:
    """Single groups of one level added up, as one group more."""
    members = np.flatnonzero(alone["partition"].values == level)
    total = alone.isel(group=members).sum("group", keep_attrs=True).expand_dims(group=[name])
    return total.assign_coords(family=("group", ["sum"]), partition=("group", [level]))


def weight_rows(table: xr.Dataset) -> list[Row]:
    """`weight_table` as one row a group: `group`, `family`, `level` (its partition), and every quantity."""
    names = {"partition": "level"}
    return [{names.get(key, key): value for key, value in row.items()} for row in records(table)]
