"""From a set-up to its task: the one place that knows which tasks there are.

The kind of the task's configuration says which task it is; a further task is one more line. Nothing else may build a
task from a set-up.
"""

from collections.abc import Callable
from typing import Any

from hyst_interp.config import SetUp, TaskConfig
from hyst_interp.tasks.protocol import Task
from hyst_interp.tasks.recall import AssociativeRecall

TASKS: dict[type, Callable[[Any, int], Task]] = {TaskConfig: AssociativeRecall}
"""Kind of a task's configuration → the task of that configuration and a training seed."""


def task_of(setup: SetUp) -> Task:
    """The task that a training seed was trained on, with what it holds in the weights."""
    return TASKS[type(setup.task)](setup.task, setup.seed)
