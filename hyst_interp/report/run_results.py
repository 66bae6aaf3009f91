"""What a report and a notebook are made from: a finished run's results, and numbers that several chapters share.

A question reads a run by functions of `RunResults` (its `of_run.py`); `once` remembers what such a function returned,
so that chapters, answers, and the verdict share one computation. Results that a run need not have are simply absent,
and whoever needs them is left out.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import xarray as xr

from hyst_interp.config import StudyConfig
from hyst_interp.errors import UserError
from hyst_interp.storage.results import anchor_evaluations, read_all
from hyst_interp.storage.run import Run

CLAIMS = "claims.json"
NEEDED = ("behaviour", "trajectory")
"""Results that every finished run has."""
T = TypeVar("T")


@dataclass(frozen=True)
class RunResults:
    """A finished run; arrays have named dims, with the seed as the unit of inference."""

    study: StudyConfig
    run: Run
    results: dict[str, xr.Dataset]
    """Merged results by the name of their file."""
    judged: dict[str, Any]
    """The content of `claims.json`."""
    _known: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, function: "Callable[[RunResults], T]") -> T:
        """`function` of this run, computed when it is first asked for."""
        if function not in self._known:
            self._known[function] = function(self)
        return self._known[function]

    @property
    def last_hold(self) -> int:
        """The latest hold of the study."""
        return self.study.holds[-1]


def read_run(study: StudyConfig, root: Path) -> RunResults:
    """Read a run; UserError where a result that every run has is missing."""
    run = Run(root)
    results = read_all(run.results)
    for name in NEEDED:
        if name not in results:
            raise UserError(f"results lack {name}.nc; finish the run with 'hyst-interp reproduce --resume'.")
    if "anchors" not in results:
        results["anchors"] = anchor_evaluations(run, study.seeds)
    return RunResults(study, run, results, _judged(run.results / CLAIMS))


def _judged(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
        content["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            f"'{path}' is missing or cannot be read; finish the run with 'hyst-interp reproduce --resume'."
        ) from None
    return content
