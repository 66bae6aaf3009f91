"""The command line: one short file a command. Heavy imports stand inside functions, after the refusals.

A command reads its arguments, refuses what can be refused without tensors (`arguments`), computes one call down, and
returns an `Answer` (`output`); `app` writes it and turns errors into one sentence and an exit status.
"""

from hyst_interp.cli.app import main

__all__ = ["main"]
