"""Replacements as one table: what `attenuation` measured on a pair, over its trials, or on a run, over its seeds.

Logits moved come first; their share of the gap is a ratio of means, undefined with its reason where the gap may be 0.
Rows are summarised a block at a time: widened to float64, all replacements of a pair with many trials would take
several times the memory of what was measured.
"""

import xarray as xr

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.summary import estimate_of, join, shares, summarise
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.statistics import Estimate

WIDENED = 2**18
"""Values that are widened at once, at most, where a row has no more."""


def gap_before(attenuated: xr.Dataset) -> Estimate:
    """The gap on the trials of the attenuation, before any replacement."""
    return estimate_of(logits_moved(attenuated.isel(row=[0]))["gap"])


def replacements(attenuated: xr.Dataset) -> xr.Dataset:
    """The table of an attenuation, dims (quantity, row), with the coordinates `components` and `reference` of a row.

    Quantities: `logits_moved`, `gap_after`, `attenuation` (the share of the gap), `answer_mass` (mean of both
    branches), `margin_after_below`, `margin_after_above`; for donors also `into_below`, `into_above`, and
    `interaction`, half their difference, which are not measured for means.

    Args:
        attenuated: dims ([seed, order,] row, branch, trial), of a run or of one pair.
    """
    at_once = max(1, WIDENED * attenuated.sizes["row"] // attenuated["margin_after"].size)
    blocks = [
        _block(attenuated.isel(row=slice(start, start + at_once)))
        for start in range(0, attenuated.sizes["row"], at_once)
    ]
    return blocks[0] if len(blocks) == 1 else xr.concat(blocks, "row")


def _block(attenuated: xr.Dataset) -> xr.Dataset:
    moved = logits_moved(attenuated)
    mass = attenuated["answer_mass"].astype("float64").mean("branch")
    after = {f"margin_after_{branch}": attenuated["margin_after"].sel(branch=branch, drop=True) for branch in BRANCHES}
    directions = {name: moved[name] for name in ("into_below", "into_above")}
    interaction = (moved["into_below"] - moved["into_above"]) / 2
    return join(
        {
            "logits_moved": summarise(moved["moved"]),
            "gap_after": summarise(moved["gap_after"]),
            "attenuation": shares(moved["moved"], moved["gap"]),
            "answer_mass": summarise(mass, "probability"),
            **{name: summarise(values) for name, values in (after | directions).items()},
            "interaction": summarise(interaction),
        }
    )
