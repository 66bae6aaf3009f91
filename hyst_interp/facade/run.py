"""Run: a finished study, and everything that the questions read of it; estimates are over seeds."""

from pathlib import Path

from hyst_interp.facade.methods import add_methods
from hyst_interp.questions import questions
from hyst_interp.report.run_results import RunResults, read_run
from hyst_interp.storage import run as directory


class Run(RunResults):
    """A finished run, and everything that can be asked of it; make one with `open_run(path)`."""

    def __repr__(self) -> str:
        seeds = len(self.study.seeds)
        return f"Run(study '{self.study.name}', {seeds} seed{'s' if seeds != 1 else ''}, {self.run.root})"


add_methods(Run, {question: question.run_methods for question in questions()})


def open_run(path: str | Path) -> Run:
    """The finished run in a directory that `hyst-interp reproduce` wrote.

    Raises:
        UserError: a directory that is no run, or whose results are missing or damaged.
    """
    read = read_run(directory.Run(Path(path)).study(), Path(path))
    return Run(read.study, read.run, read.results, read.judged)
