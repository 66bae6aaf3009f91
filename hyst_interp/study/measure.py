"""Run a question's stage on one data order, and write what it returns as one directory."""

from pathlib import Path

from hyst_interp.analysis.question import Question
from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.config import StudyConfig
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.study.plan import Stage


def measure(question: Question, study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `seed-N/order-M/results/KIND/NAME.nc` for every name that the stage returns."""
    if question.stage is None:
        raise ValueError(f"question '{question.name}' has no stage, and the plan names one of kind '{stage.kind}'")
    results = question.find(question.stage.run)(StageInputs(study, root, stage.seed, stage.order))
    with new_directory(root / stage.directory) as part:
        for name, dataset in results.items():
            write_results(dataset, part / f"{name}.nc")
        write_stage(part, stage.kind, stage.digest)
