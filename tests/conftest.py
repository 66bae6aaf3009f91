"""Fixtures that many tests share: a small set-up, and one short pair of histories made in this process.

Array shapes in signatures are checked at run time in tests only (jaxtyping with beartype).
"""

import re
from collections.abc import Callable

from jaxtyping import install_import_hook

hook = install_import_hook("hyst_interp", "beartype.beartype")

import os  # noqa: E402
from pathlib import Path  # noqa: E402

import pytest  # noqa: E402
import torch  # noqa: E402
from browser import opened  # noqa: E402, F401
from filelock import FileLock  # noqa: E402
from planted_arrays import patching_maps, planted_curve  # noqa: E402, F401

from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs  # noqa: E402
from hyst_interp.config import (  # noqa: E402
    ModelConfig,
    OptimizerConfig,
    ScheduleConfig,
    SetUp,
    TaskConfig,
    TrainingConfig,
)
from hyst_interp.config.study import load_study  # noqa: E402
from hyst_interp.history.advance import advance  # noqa: E402
from hyst_interp.history.schedule import hold_schedule, paired_schedules  # noqa: E402
from hyst_interp.history.state import TrainingState, fork, initial_state  # noqa: E402
from hyst_interp.study.execute import InProcess  # noqa: E402
from hyst_interp.study.reproduce import reproduce  # noqa: E402
from hyst_interp.tasks.registry import task_of  # noqa: E402

torch.set_num_threads(1)


def check_one_sentence(text: object, *words: str) -> None:
    """A refusal is one sentence on one line that ends in a full stop and names every one of `words`."""
    message = str(text)
    assert message.endswith("."), message
    assert not re.search(r"[\r\n]|[.!?]\s", message), message
    assert "Value error" not in message, message
    assert "validation error" not in message, message
    for word in words:
        assert word in message, f"'{word}' is not in: {message}"


SMALL = SetUp(
    seed=100,
    p0=0.5,
    task=TaskConfig(n_keys=6, n_values=7, n_pairs=3),
    model=ModelConfig(d_model=32, n_heads=2, d_mlp=48),
    training=TrainingConfig(batch_size=32, optimizer=OptimizerConfig(lr=3e-3)),
)


@pytest.fixture(scope="session")
def one_sentence() -> Callable[..., None]:
    """`one_sentence(error, *words)`: the text of a refusal is one sentence that names `words`."""
    return check_one_sentence


@pytest.fixture(scope="session")
def small_setup() -> SetUp:
    """6 keys, 7 values, 3 pairs; 2 layers, 2 heads, d_model 32."""
    return SMALL


@pytest.fixture(scope="session")
def small_anchor(small_setup: SetUp) -> TrainingState:
    """300 updates at p0 from initialisation: it answers, but no convergence is claimed."""
    schedule = hold_schedule(300, small_setup.p0)
    return advance(initial_state(small_setup), schedule)


@pytest.fixture(scope="session")
def small_branches(small_anchor: TrainingState) -> dict[str, TrainingState]:
    """Both branches on arrival, δ 0.4, 2 levels, dwell 5."""
    schedules = paired_schedules(ScheduleConfig(levels=2, dwell=5), small_anchor.setup.p0)
    return {branch: advance(fork(small_anchor, branch, 0), schedule) for branch, schedule in schedules.items()}


@pytest.fixture(scope="session")
def small_pair(small_setup: SetUp, small_anchor: TrainingState, small_branches: dict[str, TrainingState]) -> PairData:
    """The two networks on 192 conflict trials, means over 512 inputs, and the anchor."""
    return PairData(
        small_branches["below"].model(),
        small_branches["above"].model(),
        evaluation_trials(task_of(small_setup), 192),
        mean_inputs(task_of(small_setup), 512),
        task_of(small_setup),
        small_anchor.model(),
    )


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one tiny run of the session, made in this process; xdist's workers share it. Never write into it."""
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    root = shared / "tiny-run"
    with FileLock(shared / "tiny-run.lock"):
        if not (root / "figures" / "stage.json").exists():
            reproduce(load_study("tiny"), root, resume=root.exists(), executor=InProcess())
    return root
