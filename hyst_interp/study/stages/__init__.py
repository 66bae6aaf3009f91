"""One file a stage: `run(study, root, stage)` reads its inputs from the run, and writes its directory whole.

Stages have no arithmetic of their own; they are plain functions of picklable arguments, so any executor can run them.
"""

from importlib import import_module
from pathlib import Path

from hyst_interp.config import StudyConfig
from hyst_interp.study.plan import Stage


def run_stage(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Run one stage; the heavy modules are imported where it runs."""
    from hyst_interp.history.guard import one_thread

    with one_thread():
        import_module(f"hyst_interp.study.stages.{stage.kind}").run(study, root, stage)
