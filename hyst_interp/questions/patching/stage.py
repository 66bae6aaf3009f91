"""Map both branches of one data order on arrival, by activation patching."""

from pathlib import Path

import xarray as xr

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config import StudyConfig
from hyst_interp.interventions.patching import Axis, patching_map
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.study.pairs import pair_at
from hyst_interp.study.plan import BRANCHES, Stage, setup_of
from hyst_interp.tasks.recall import task_of

KEPT = ["effect", "base", "donor"]


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/patching/patching-SITE.nc` by role, and for the first order `patching-figure.nc` by position."""
    pair = pair_at(study, root, stage.seed, stage.order, 0, study.patching.trials)
    task = task_of(setup_of(study, stage.seed))
    with new_directory(root / stage.directory) as part:
        for site in study.patching.sites:
            write_results(maps_of(pair, task, study.patching.twins, site, "role"), part / f"patching-{site}.nc")
        if stage.order == 0:
            twins = study.patching.twins[:1]
            found = maps_of(pair, task, twins, study.patching.figure_site, "position")
            write_results(found, part / "patching-figure.nc")
        write_stage(part, stage.kind, stage.digest)


def maps_of(pair: PairData, task, twins: tuple[str, ...], site: str, axis: Axis) -> xr.Dataset:
    """Effects (branch, twin, …) of one site."""
    branches = []
    for model in (pair.below, pair.above):
        found = [patching_map(model, task.twin(pair.trials, twin), site, "denoise", axis)[KEPT] for twin in twins]
        branches.append(xr.concat(found, dim="twin", combine_attrs="drop_conflicts").assign_coords(twin=list(twins)))
    return xr.concat(branches, dim="branch", combine_attrs="drop_conflicts").assign_coords(branch=list(BRANCHES))
