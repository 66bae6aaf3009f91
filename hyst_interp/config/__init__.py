"""What can be chosen: task, model, training, schedule, study. Frozen pydantic models that refuse impossible values."""

from hyst_interp.config.model import ModelConfig
from hyst_interp.config.schedule import ScheduleConfig
from hyst_interp.config.setup import SetUp
from hyst_interp.config.study import StudyConfig
from hyst_interp.config.task import TaskConfig
from hyst_interp.config.training import ConvergenceConfig, OptimizerConfig, TrainingConfig

__all__ = [
    "ConvergenceConfig",
    "ModelConfig",
    "OptimizerConfig",
    "ScheduleConfig",
    "SetUp",
    "StudyConfig",
    "TaskConfig",
    "TrainingConfig",
]
