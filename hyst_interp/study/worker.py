"""What a worker process imports before its first stage, and how it keeps its memory; nothing else."""

from importlib import import_module

from hyst_interp.study.memory import keep_freed_memory
from hyst_interp.study.stages import modules

for name in modules():
    import_module(name)
keep_freed_memory()
