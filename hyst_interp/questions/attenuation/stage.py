"""Replace components in both branches of one data order: every set on arrival, the joint heads at later holds."""

from pathlib import Path

from hyst_interp.config import StudyConfig
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.study.pairs import pair_at
from hyst_interp.study.plan import Stage


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/attenuation/attenuation-hold-NNN.nc`: dims (row, branch, trial)."""
    with new_directory(root / stage.directory) as part:
        for hold in study.holds:
            wanted = study.attenuation.arrival if hold == 0 else study.attenuation.holds
            pair = pair_at(study, root, stage.seed, stage.order, hold, study.attenuation.trials)
            sets = {reference: pair.sets(",".join(names)) for reference, names in wanted.items()}
            write_results(attenuation(pair, sets), part / f"attenuation-hold-{hold:03d}.nc")
        write_stage(part, stage.kind, stage.digest)
