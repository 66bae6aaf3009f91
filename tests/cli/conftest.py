"""Fixtures of the command line's tests: a small run on disk, and calls of `main` in this process."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hyst_interp.cli import main
from hyst_interp.config import ModelConfig, ScheduleConfig, SetUp
from hyst_interp.history.schedule import exposure_digest, paired_schedules
from hyst_interp.history.state import TrainingState, fork, initial_state
from hyst_interp.storage.checkpoint import save
from hyst_interp.storage.manifest import Ancestor, Provenance


@pytest.fixture(scope="session")
def mini(
    tmp_path_factory: pytest.TempPathFactory, small_anchor: TrainingState, small_branches: dict[str, TrainingState]
) -> Path:
    """A run's layout with one seed and one order, and beside it what must be refused. Never write into it."""
    root = tmp_path_factory.mktemp("mini")
    ancestor = Ancestor(state=small_anchor.hash(), weights=small_anchor.weights_hash())
    save(small_anchor, root / "seed-100" / "anchor", Provenance(step=small_anchor.step, formed_at=100))
    schedules = paired_schedules(ScheduleConfig(levels=2, dwell=5), small_anchor.setup.p0)
    for branch, state in small_branches.items():
        schedule = schedules[branch]
        place = Provenance(
            step=state.step,
            hold=0,
            parent=ancestor,
            anchor=ancestor,
            schedule=schedule.digest(),
            exposure=exposure_digest(schedule),
        )
        save(state, root / "seed-100" / "order-0" / branch / "hold-000", place, optimizer=branch == "below")
    setup = small_anchor.setup
    _save_untrained(setup.model_copy(update={"seed": 101}), root / "other-seed")
    _save_untrained(
        setup.model_copy(update={"model": ModelConfig(d_model=32, n_heads=4, d_mlp=48)}), root / "other-shape"
    )
    _save_untrained(setup.model_copy(update={"model": ModelConfig(d_model=32, n_heads=2, d_mlp=0)}), root / "no-mlp")
    below = root / "seed-100" / "order-0" / "below" / "hold-000"
    for name in ("truncated", "half"):
        shutil.copytree(below, root / name)
    weights = root / "truncated" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    (root / "half" / "weights.safetensors").unlink()
    (root / "empty").mkdir()
    shutil.copytree(root / "seed-100" / "order-0", root / "orphans")
    return root


def _save_untrained(setup: SetUp, directory: Path) -> None:
    save(fork(initial_state(setup), "above", 0), directory, optimizer=False)


@dataclass(frozen=True)
class Called:
    """What one call of the command line left behind."""

    status: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as strict JSON: NaN and infinities are no JSON."""
        assert self.status == 0, self.err
        return json.loads(self.out, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    """`call("info", path)` runs `main` in this process."""

    def run(*arguments: object) -> Called:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        found = capsys.readouterr()
        return Called(status, found.out, found.err)

    return run


@pytest.fixture
def both(mini: Path) -> tuple[Path, Path]:
    """The branch directories from below and from above."""
    return mini / "seed-100" / "order-0" / "below", mini / "seed-100" / "order-0" / "above"
