"""Map both branches of one data order on arrival: by role and by position, and where every head looks."""

import xarray as xr

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.interventions.patching import Axis, patching_map
from hyst_interp.questions.patching.attention import attention_patterns

KEPT = ["effect", "base", "donor"]
BY_POSITION = ("resid_pre", "result")
"""Sites that are mapped by position as well."""


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`patching-SITE` by role, per trial; `patching-position-SITE`, means over trials; `attention`.

    The first data order also has `patching-figure`, one map by position, per trial.
    """
    settings = inputs.study.patching
    pair = inputs.pair(settings.trials)
    results = {f"patching-{site}": maps_of(pair, settings.twins, site, "role") for site in settings.sites}
    if inputs.order == 0:
        results["patching-figure"] = maps_of(pair, settings.twins[:1], settings.figure_site, "position")
    results["attention"] = attention_patterns(pair)
    for site in BY_POSITION:
        results[f"patching-position-{site}"] = _averaged(maps_of(pair, settings.twins, site, "position"))
    return results


def _averaged(effects: xr.Dataset) -> xr.Dataset:
    """Means over trials: the maps by position have too many cells to keep every trial."""
    return effects.astype("float64").mean("trial").astype("float32").assign_attrs(effects.attrs)


def maps_of(pair: PairData, twins: tuple[str, ...], site: str, axis: Axis) -> xr.Dataset:
    """Effects (branch, twin, …) of one site."""
    branches = []
    for model in (pair.below, pair.above):
        maps = [patching_map(model, pair.task.twin(pair.trials, twin), site, "denoise", axis)[KEPT] for twin in twins]
        branches.append(xr.concat(maps, dim="twin", combine_attrs="drop_conflicts").assign_coords(twin=list(twins)))
    return xr.concat(branches, dim="branch", combine_attrs="drop_conflicts").assign_coords(branch=list(BRANCHES))
