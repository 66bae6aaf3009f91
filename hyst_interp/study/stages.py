"""What carries out a stage of which kind: training, a question's measurement, or what ends a study.

A stage is a plain function of picklable arguments, so any executor can run it. Heavy modules are imported where it
runs; `MODULES` names them all, so that worker processes can import them once beforehand.
"""

from importlib import import_module
from pathlib import Path

from hyst_interp.config import StudyConfig
from hyst_interp.questions import questions
from hyst_interp.study.plan import Stage

OWN = {
    "anchor": "train_anchor",
    "branch": "train_branch",
    "calibrate": "calibrate",
    "collect": "collect",
    "report": "write_report",
}
"""Kind of the stages that belong to no question → the module of this room whose `run` carries it out."""


def modules() -> tuple[str, ...]:
    """Dotted names of everything that a stage may need."""
    own = tuple(f"{__package__}.{name}" for name in OWN.values())
    measured = tuple(question.home(question.stage.run) for question in questions() if question.stage is not None)
    return (*own, f"{__package__}.measure", *measured)


def run_stage(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Run one stage, in one torch thread."""
    from hyst_interp.history.guard import one_thread

    with one_thread():
        if stage.kind in OWN:
            import_module(f"{__package__}.{OWN[stage.kind]}").run(study, root, stage)
            return
        from hyst_interp.study.measure import measure

        (question,) = (
            candidate for candidate in questions() if candidate.stage is not None and candidate.stage.kind == stage.kind
        )
        measure(question, study, root, stage)
