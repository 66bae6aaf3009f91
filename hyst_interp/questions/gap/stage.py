"""Measure both branches of one data order at every hold, on the headline trials."""

from pathlib import Path

import xarray as xr

from hyst_interp.config import StudyConfig
from hyst_interp.questions.gap.measure import pair_behaviour
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.study.pairs import pair_at
from hyst_interp.study.plan import Stage

KEPT = ["margin", "contextual_part", "fixed_part", "p_contextual", "p_fixed"]


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/behaviour/behaviour.nc`: dims (hold, branch, trial)."""
    found = [
        pair_behaviour(pair_at(study, root, stage.seed, stage.order, hold, study.behaviour.headline_trials))[KEPT]
        for hold in study.holds
    ]
    table = xr.concat(found, dim="hold", coords="minimal", compat="override").assign_coords(hold=list(study.holds))
    with new_directory(root / stage.directory) as part:
        write_results(table, part / "behaviour.nc")
        write_stage(part, stage.kind, stage.digest)
