"""What a measuring stage is given: one data order of one seed of a study, and what stands of it on disk.

A stage is a function from these inputs to datasets by the name of their file. It reads no path and writes none:
`study/measure.py` writes what it returns.
"""

from dataclasses import dataclass
from pathlib import Path

from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.config import SetUp, StudyConfig
from hyst_interp.config.study import setup_of
from hyst_interp.storage.checkpoint import Checkpoint, load
from hyst_interp.storage.run import Run
from hyst_interp.streams import Stream
from hyst_interp.tasks.protocol import Task
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials


@dataclass(frozen=True)
class StageInputs:
    """One data order of one seed."""

    study: StudyConfig
    root: Path
    """The run's directory."""
    seed: int
    order: int

    @property
    def setup(self) -> SetUp:
        """What the seed is trained on, and how."""
        return setup_of(self.study, self.seed)

    @property
    def task(self) -> Task:
        """The task that the seed is trained on."""
        return task_of(self.setup)

    @property
    def stream(self) -> Stream:
        """The stream for resampling."""
        return Stream("resampling", self.seed, self.order)

    def trials(self, n: int) -> Trials:
        """The first `n` evaluation trials of the seed."""
        return evaluation_trials(self.task, n)

    def anchor(self) -> Checkpoint:
        """The common ancestor of both branches."""
        return load(Run(self.root).anchor(self.seed))

    def branch(self, branch: str, hold: int = 0) -> Checkpoint:
        """One branch after `hold` updates beyond arrival."""
        return load(Run(self.root).hold(self.seed, self.order, branch, hold))

    def pair(self, trials: int, hold: int = 0) -> PairData:
        """Both branches after `hold` updates, on the first `trials` evaluation trials, with their anchor."""
        return PairData(
            self.branch("below", hold).model(),
            self.branch("above", hold).model(),
            self.trials(trials),
            mean_inputs(self.task, self.study.attenuation.means_trials),
            self.task,
            self.anchor().model(),
        )
