"""Write the report and its figures from the merged results."""

from pathlib import Path

from hyst_interp.config import StudyConfig
from hyst_interp.report.page import write_report
from hyst_interp.study.plan import Stage


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `report.html` and `figures/`."""
    write_report(study, root, stage.kind, stage.digest)
