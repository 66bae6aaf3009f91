"""Replace components in both branches of one data order: every set on arrival, the joint heads at later holds."""

import xarray as xr

from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.questions.attenuation.measure import attenuation


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`attenuation-hold-NNN`: dims (row, branch, trial)."""
    settings, results = inputs.study.attenuation, {}
    for hold in inputs.study.holds:
        wanted = settings.arrival if hold == 0 else settings.holds
        pair = inputs.pair(settings.trials, hold)
        sets = {reference: pair.sets(",".join(names)) for reference, names in wanted.items()}
        results[f"attenuation-hold-{hold:03d}"] = attenuation(pair, sets)
    return results
