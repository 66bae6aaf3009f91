"""Split what components carry into a mean part and an input-dependent part, for one data order on arrival."""

from pathlib import Path

import xarray as xr

from hyst_interp.config import StudyConfig
from hyst_interp.questions.information.measure import information
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.study.pairs import pair_at
from hyst_interp.study.plan import Stage


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/information/information.nc`: dims (replacement, components, branch, trial).

    How far a replacement leads is averaged over trials: its rows need no more, and it would be three quarters of a run.
    """
    pair = pair_at(study, root, stage.seed, stage.order, 0, study.localization.trials)
    with new_directory(root / stage.directory) as part:
        write_results(_kept(information(pair)), part / "information.nc")
        write_stage(part, stage.kind, stage.digest)


def _kept(found: xr.Dataset) -> xr.Dataset:
    far = [name for name in found.data_vars if name not in ("margin", "margin_after")]
    means = {name: found[name].astype("float64").mean("trial", keep_attrs=True).astype("float32") for name in far}
    return found.assign(means)
