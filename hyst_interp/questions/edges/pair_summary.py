"""Edges of one pair as numbers with intervals: a row an edge, for the twin's effects and for the gap's logits moved.

Intervals are over trials and speak of these two networks only. They stand side by side uncorrected; whoever picks the
largest has to say so. Over seeds edges have no common names: `route_rows` renames heads first.
"""

import xarray as xr

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.rows import Row
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions.edges.measure import edges_of
from hyst_interp.statistics import Estimate, over_trials, ratio_of_means


def edge_rows(found: xr.Dataset) -> list[Row]:
    """One row an edge, largest |effect| in either history first.

    Keys: `edge`, `source`, `target`, `slot`; in logits `below`, `above` and their `difference`, paired by trial.

    Args:
        found: `edge_patching.pair_effects`' Dataset.
    """
    effect = found["effect"].astype("float64")
    sides = {branch: effect.sel(branch=branch, drop=True) for branch in BRANCHES}
    rows = _rows(found, sides | {"difference": sides["below"] - sides["above"]})
    return sorted(rows, key=lambda row: -max(_size(row["below"]), _size(row["above"])))


def gap_edge_rows(found: xr.Dataset) -> list[Row]:
    """One row an edge, the one that moves most of the gap first.

    Keys: `edge`, `source`, `target`, `slot`; in logits `moved` (the mean of both directions), `into_below`,
    `into_above`, `interaction` (half their difference); `share` of the gap (ratio of means, undefined where the gap may
    be 0). Effects of single edges need not add up to the gap.

    Args:
        found: `edge_patching.gap_effects`' Dataset.
    """
    moved = logits_moved(found)
    parts = {name: moved[name] for name in ("moved", "into_below", "into_above")}
    rows = _rows(found, parts | {"interaction": (parts["into_below"] - parts["into_above"]) / 2})
    margin = found["margin"].astype("float64")
    gap = margin.sel(branch="below", drop=True) - margin.sel(branch="above", drop=True)
    for index, row in enumerate(rows):
        one = parts["moved"].isel(edge=index).values
        row["share"] = ratio_of_means(one, gap.values, unit="share of the gap", over="trials")
    return sorted(rows, key=lambda row: -_size(row["moved"]))


def _rows(found: xr.Dataset, values: dict[str, xr.DataArray]) -> list[Row]:
    return [
        {"edge": str(edge), "source": edge.source, "target": edge.target, "slot": edge.slot}
        | {name: over_trials(one.isel(edge=index).values, "logits") for name, one in values.items()}
        for index, edge in enumerate(edges_of(found))
    ]


def _size(value: str | Estimate) -> float:
    return abs(value.estimate or 0.0) if isinstance(value, Estimate) else 0.0
