"""Split what components carry into a mean part and an input-dependent part, for one data order on arrival."""

from pathlib import Path

from hyst_interp.config import StudyConfig
from hyst_interp.localization.information import information
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.study.pairs import pair_at
from hyst_interp.study.plan import Stage


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/information/information.nc`: dims (replacement, components, branch, trial)."""
    pair = pair_at(study, root, stage.seed, stage.order, 0, study.localization.trials)
    with new_directory(root / stage.directory) as part:
        write_results(information(pair), part / "information.nc")
        write_stage(part, stage.kind, stage.digest)
