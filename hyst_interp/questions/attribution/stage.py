"""Look inside both branches of one data order on arrival: direct attribution, attention, and maps by position."""

from pathlib import Path

import xarray as xr

from hyst_interp.config import StudyConfig
from hyst_interp.questions.attribution.measure import direct_attribution
from hyst_interp.questions.patching.attention import attention_patterns
from hyst_interp.questions.patching.stage import maps_of
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.study.pairs import pair_at
from hyst_interp.study.plan import Stage, setup_of
from hyst_interp.tasks.recall import task_of


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/circuits`: `direct.nc`, `attention.nc`, and `patching-position-SITE.nc` (means over trials)."""
    pair = pair_at(study, root, stage.seed, stage.order, 0, study.patching.trials)
    task = task_of(setup_of(study, stage.seed))
    with new_directory(root / stage.directory) as part:
        write_results(direct_attribution(pair), part / "direct.nc")
        write_results(attention_patterns(pair), part / "attention.nc")
        for site in ("resid_pre", "result"):
            found = maps_of(pair, task, study.patching.twins, site, "position")
            write_results(_averaged(found), part / f"patching-position-{site}.nc")
        write_stage(part, stage.kind, stage.digest)


def _averaged(found: xr.Dataset) -> xr.Dataset:
    """Means over trials: the maps by position have too many cells to keep every trial."""
    return found.astype("float64").mean("trial").astype("float32").assign_attrs(found.attrs)
