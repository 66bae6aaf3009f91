"""How long a command takes before it works: `--help`, the imports, and a bare `attenuate`, as whole processes."""

import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.pairs import timed


def measures(below: Path, above: Path, runs: int) -> list[dict[str, Any]]:
    """Median seconds of each over `runs` processes, with their range."""
    tool = [sys.executable, "-m", "hyst_interp"]
    commands = {
        "hyst-interp --help": [*tool, "--help"],
        "import transformer_lens": [sys.executable, "-c", "import transformer_lens"],
        "hyst-interp attenuate on the reference checkpoints": [*tool, "attenuate", str(below), str(above)],
    }
    rows = []
    for what, command in commands.items():
        times = [
            timed(lambda command=command: subprocess.run(command, capture_output=True, check=True))[0]
            for _ in range(runs)
        ]
        rows.append({"what": what, "seconds": statistics.median(times), "low": min(times), "high": max(times)})
    return rows
