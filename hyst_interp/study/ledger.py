"""Which stages of a run are done and which are waiting; whatever changes is told to the listener and the run's log.

The ledger decides once, at its opening, what need not run: a stage whose directory records the planned hash, unless
something that it needs is made anew. It runs nothing.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hyst_interp.storage.run import LOG, stage_hash
from hyst_interp.study.plan import Stage


@dataclass(frozen=True)
class Event:
    """What happened to a stage: `kept`, `done`, or `failed`."""

    kind: str
    stage: Stage
    finished: int
    """Stages that are done now."""
    total: int
    seconds: float
    """How long it took."""
    elapsed: float
    """Seconds since the ledger was opened."""
    left: tuple[Stage, ...]
    """Stages that are not done, those under way among them."""
    seeds_finished: int
    """Seeds all of whose stages are done."""
    seeds: int


Listener = Callable[[Event], None]


class Ledger:
    """The state of a plan's stages in one run."""

    def __init__(
        self, root: Path, stages: Sequence[Stage], listener: Listener | None = None, whole_pairs: bool = False
    ) -> None:
        """Tell which stages are kept; with `whole_pairs` a branch is kept only if its sibling is."""
        self.root, self.stages, self.listener = root, stages, listener
        self.opened = time.monotonic()
        self.done: set[str] = set()
        """Directories of the stages that are done."""
        self.waiting: list[Stage] = []
        """Stages that have not been started, in the plan's order."""
        current = {stage.directory for stage in stages if stage_hash(root / stage.directory) == stage.digest}
        if whole_pairs:
            halves = {pair_of(s) for s in stages if s.kind == "branch" and s.directory not in current}
            current -= {s.directory for s in stages if s.kind == "branch" and pair_of(s) in halves}
        remade: set[str] = set()
        for stage in stages:
            if stage.directory in current and not any(need in remade for need in stage.needs):
                self.done.add(stage.directory)
                self._log({"event": "kept", "stage": stage.title})
                self._tell("kept", stage, 0.0)
            else:
                remade.add(stage.directory)
                self.waiting.append(stage)

    def ready(self) -> list[Stage]:
        """Waiting stages whose needs are done."""
        return [stage for stage in self.waiting if self.done.issuperset(stage.needs)]

    def start(self, stage: Stage) -> None:
        """The stage waits no longer."""
        self.waiting.remove(stage)

    def finish(self, stage: Stage, found: dict) -> None:
        """The stage is done; `found` says where and in how many `seconds`."""
        self.done.add(stage.directory)
        self._log({"event": "done", "stage": stage.title, **found})
        self._tell("done", stage, found["seconds"])

    def fail(self, stage: Stage, error: BaseException) -> None:
        """The stage has failed."""
        self._log({"event": "failed", "stage": stage.title, "error": str(error)})
        self._tell("failed", stage, 0.0)

    def _tell(self, kind: str, stage: Stage, seconds: float) -> None:
        if self.listener is None:
            return
        left = tuple(planned for planned in self.stages if planned.directory not in self.done)
        seeds = {planned.seed for planned in self.stages if planned.seed >= 0}
        finished = len(seeds - {planned.seed for planned in left})
        elapsed = time.monotonic() - self.opened
        self.listener(
            Event(kind, stage, len(self.done), len(self.stages), seconds, elapsed, left, finished, len(seeds))
        )

    def _log(self, entry: dict) -> None:
        """Append to the run's log, the only file that knows clocks, hosts, and durations."""
        line = json.dumps({"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **entry}, ensure_ascii=False)
        with (self.root / LOG).open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def pair_of(stage: Stage) -> tuple[int, int]:
    """Seed and data order: what the two branches of a pair share."""
    return stage.seed, stage.order
