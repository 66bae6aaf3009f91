"""What a worker process imports before its first stage, and how it keeps its memory; nothing else."""

import hyst_interp.questions.attenuation.stage
import hyst_interp.questions.attribution.stage
import hyst_interp.questions.crossing.stage
import hyst_interp.questions.edges.stage
import hyst_interp.questions.gap.stage
import hyst_interp.questions.information.stage
import hyst_interp.questions.patching.stage
import hyst_interp.questions.shapley.stage
import hyst_interp.questions.transplant.stage
import hyst_interp.questions.weights.stage  # noqa: F401
from hyst_interp.study.memory import keep_freed_memory

keep_freed_memory()
