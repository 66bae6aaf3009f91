"""Edges as numbers with intervals: a table of the twin's effects, and one of the gap's logits moved, edge by edge.

Of one pair, intervals are over trials and speak of these two networks only. They stand side by side uncorrected;
whoever picks the largest has to say so. Over seeds edges have no common names: `summary` renames heads first.
"""

import xarray as xr

from hyst_interp.analysis.exchange import exchanged
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import join, records, shares, summarise
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.statistics import Estimate

MOVED = ("moved", "into_below", "into_above", "interaction")
"""What is told in logits of the gap that an edge moves."""


def edge_table(effects: xr.Dataset) -> xr.Dataset:
    """The table of every edge's effect, dims (quantity, edge): `below`, `above`, and their `difference`, paired.

    Args:
        effects: `measure.pair_effects`' Dataset; or its `effect` (branch, edge, seed), edges named alike.
    """
    effect = effects["effect"].astype("float64")
    sides = {branch: effect.sel(branch=branch, drop=True) for branch in BRANCHES}
    sides["difference"] = sides["below"] - sides["above"]
    table = join({name: summarise(side, "logits") for name, side in sides.items()})
    return table.assign_attrs(effects.attrs, units="logits", quantity="effect on the margin")


def gap_edge_table(patched: xr.Dataset) -> xr.Dataset:
    """The table of what every edge moves of the gap, dims (quantity, edge).

    Quantities: in logits `moved` (the mean of both directions, the headline), `into_below`, `into_above`,
    `interaction` (half their difference); `share` of the gap (ratio of means, undefined where the gap may be 0).
    Effects of single edges need not add up to the gap.

    Args:
        patched: `measure.gap_effects`' Dataset.
    """
    return moved_table(edges_moved(patched)).assign_attrs(patched.attrs | {"quantity": "logits of the gap moved"})


def edges_moved(patched: xr.Dataset) -> xr.Dataset:
    """`exchanged` of `measure.gap_effects`' Dataset: `gap`, and by edge `moved`, both directions, `interaction`."""
    return exchanged(patched.drop_vars("reference", errors="ignore"))


def moved_table(values: xr.Dataset) -> xr.Dataset:
    """The table of `edges_moved`: `MOVED`, and the `share` of the gap; other dims (edge, kind) stay."""
    tables = {name: summarise(values[name], "logits") for name in MOVED}
    return join(tables | {"share": shares(values["moved"], values["gap"])}).assign_attrs(units="logits")


def edge_rows(table: xr.Dataset) -> list[Row]:
    """`edge_table` as one row an edge, the one of largest |effect| in either history first."""
    return sorted(records(table), key=lambda row: -max(_size(row["below"]), _size(row["above"])))


def gap_edge_rows(table: xr.Dataset) -> list[Row]:
    """`gap_edge_table` as one row an edge, the one that moves most of the gap first."""
    return sorted(records(table), key=lambda row: -_size(row["moved"]))


def _size(value: Estimate) -> float:
    return abs(value.estimate or 0.0)
