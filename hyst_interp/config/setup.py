"""What one training seed was trained on, and how: the same for every state that descends from its anchor."""

from hyst_interp.config.frozen import Frozen
from hyst_interp.config.model import ModelConfig
from hyst_interp.config.task import TaskConfig
from hyst_interp.config.training import TrainingConfig


class SetUp(Frozen):
    """Seed, target mixture, task, model, and training of one anchor."""

    seed: int
    """Training seed: initialisation, permutation, and batches derive from it."""
    p0: float
    """Target mixture."""
    task: TaskConfig
    model: ModelConfig
    training: TrainingConfig
