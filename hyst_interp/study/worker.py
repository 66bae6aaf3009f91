"""What a worker process imports before its first stage, and how it keeps its memory; nothing else."""

import hyst_interp.study.stages.anchor
import hyst_interp.study.stages.attenuation
import hyst_interp.study.stages.behaviour
import hyst_interp.study.stages.branch
import hyst_interp.study.stages.calibrate
import hyst_interp.study.stages.circuits
import hyst_interp.study.stages.coalitions
import hyst_interp.study.stages.collect
import hyst_interp.study.stages.crossing
import hyst_interp.study.stages.information
import hyst_interp.study.stages.patching
import hyst_interp.study.stages.report
import hyst_interp.study.stages.routes
import hyst_interp.study.stages.transplant
import hyst_interp.study.stages.weights  # noqa: F401
from hyst_interp.study.memory import keep_freed_memory

keep_freed_memory()
