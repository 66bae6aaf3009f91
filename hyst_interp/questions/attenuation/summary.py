"""Replacements over seeds: what `attenuation` measured on many pairs, one row a set and reference.

A seed's value is its mean over trials and data orders. Logits moved come first; their share of the gap is a ratio of
means over seeds, undefined with its reason where the gap may be 0.
"""

import xarray as xr

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.replicates import over_seeds, per_seed_dataset
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.statistics import Estimate, ratio_of_means


def replacement_gap(found: xr.Dataset) -> Estimate:
    """The gap over seeds on the trials of the attenuation, before any replacement."""
    return over_seeds(per_seed(logits_moved(found)["gap"]))


def replacement_rows(found: xr.Dataset) -> list[Row]:
    """Rows of an attenuation with dims (seed, order, row, branch, trial), estimates over seeds.

    Keys: `components`, `reference`, `logits_moved`, `gap_after`, `attenuation`, `answer_mass` (mean of both branches),
    `margin_after_below`, `margin_after_above`; for donors also `into_below`, `into_above`, and `interaction`, half
    their difference.
    """
    moved = per_seed_dataset(logits_moved(found))
    mass = per_seed(found["answer_mass"].astype("float64").mean("branch"))
    after = per_seed(found["margin_after"].astype("float64"))
    rows: list[Row] = []
    for index in range(found.sizes["row"]):
        one = moved.isel(row=index)
        row: Row = {
            "components": str(found["components"].values[index]),
            "reference": str(found["reference"].values[index]),
            "logits_moved": over_seeds(one["moved"]),
            "gap_after": over_seeds(one["gap_after"]),
            "attenuation": ratio_of_means(one["moved"].values, one["gap"].values, unit="share of the gap"),
            "answer_mass": over_seeds(mass.isel(row=index), "probability"),
        }
        for branch in BRANCHES:
            row[f"margin_after_{branch}"] = over_seeds(after.isel(row=index).sel(branch=branch, drop=True))
        if row["reference"] == "donor":
            row["into_below"], row["into_above"] = over_seeds(one["into_below"]), over_seeds(one["into_above"])
            row["interaction"] = over_seeds((one["into_below"] - one["into_above"]) / 2)
        rows.append(row)
    return rows
