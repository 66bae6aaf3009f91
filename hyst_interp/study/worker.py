"""What a worker process imports before its first stage; nothing else."""

import hyst_interp.study.stages.anchor
import hyst_interp.study.stages.attenuation
import hyst_interp.study.stages.behaviour
import hyst_interp.study.stages.branch
import hyst_interp.study.stages.calibrate
import hyst_interp.study.stages.circuits
import hyst_interp.study.stages.collect
import hyst_interp.study.stages.patching
import hyst_interp.study.stages.report  # noqa: F401
