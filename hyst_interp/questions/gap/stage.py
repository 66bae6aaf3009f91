"""Measure both branches of one data order at every hold, on the headline trials."""

import xarray as xr

from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.questions.gap.measure import pair_behaviour

KEPT = ["margin", "contextual_part", "fixed_part", "p_contextual", "p_fixed"]


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`behaviour`: dims (hold, branch, trial)."""
    holds, trials = list(inputs.study.holds), inputs.study.behaviour.headline_trials
    tables = [pair_behaviour(inputs.pair(trials, hold))[KEPT] for hold in holds]
    return {"behaviour": xr.concat(tables, dim="hold", coords="minimal", compat="override").assign_coords(hold=holds)}
