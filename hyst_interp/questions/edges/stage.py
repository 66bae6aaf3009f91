"""Patch every edge of both branches of one data order on arrival: exact effects, circuits, and EAP-IG beside them."""

import xarray as xr

from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.questions.edges.measure import gap_effects
from hyst_interp.questions.edges.run_measure import attributions, circuits, twin_effects


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`routes` (twin, branch, edge, trial), `routes-gap`, `circuits`, and `attribution`."""
    settings = inputs.study.localization
    pair = inputs.pair(settings.route_trials)
    twins = {twin: inputs.task.twin(pair.trials, twin) for twin in inputs.study.patching.twins}
    effects, moved = twin_effects(pair, twins), gap_effects(pair)
    moved["answer_mass"] = moved["answer_mass"].mean("trial", keep_attrs=True)
    return {
        "routes": effects,
        "routes-gap": moved,
        "circuits": circuits(pair, twins, effects, inputs.stream),
        "attribution": attributions(pair, twins, settings.attribution_steps),
    }
