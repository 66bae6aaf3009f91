"""Training an anchor until it has converged, by a criterion that looks at neither gap nor attenuation.

Evaluated every 50 updates on 2,048 conflict trials. An anchor has converged when, over the last five evaluations, the
answer mass P(c) + P(f) is at least 0.97 in each, the mean of their margins is within 0.15 of log(p0/(1−p0)), and the
change fitted to them is within ±0.15; and when at least `minimum_age` updates have passed since the contextual route
formed, the first evaluation with mean P(c) ≥ p0/2. Reaching the limit without that is a failure, said in one sentence.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from hyst_interp.config import SetUp
from hyst_interp.errors import UserError
from hyst_interp.history.advance import trajectory
from hyst_interp.history.ensemble import trajectory_together
from hyst_interp.history.measured import measured
from hyst_interp.history.schedule import Schedule
from hyst_interp.history.state import TrainingState, initial_state
from hyst_interp.streams import Stream
from hyst_interp.tasks.protocol import Task
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials

EVERY = 50
TRIALS = 2048
WINDOW = 5
ANSWER_MASS = 0.97
MARGIN_TOLERANCE = 0.15
DRIFT_TOLERANCE = 0.15


@dataclass(frozen=True)
class Evaluation:
    """What the criterion sees of one moment."""

    step: int
    margin: float
    """Mean margin over conflict trials, in logits."""
    p_contextual: float
    """Mean P(c)."""
    answer_mass: float
    """Mean P(c) + P(f)."""


@dataclass(frozen=True)
class Anchor:
    """A converged training state and the evaluations that led to it."""

    state: TrainingState
    evaluations: tuple[Evaluation, ...]
    formed_at: int
    """Step at which the contextual route had formed."""

    @property
    def age(self) -> int:
        """Updates since the contextual route formed."""
        return self.state.step - self.formed_at


def formed_at(evaluations: list[Evaluation], p0: float) -> int | None:
    """Step of the first evaluation with mean P(c) ≥ p0/2, or None."""
    return next((e.step for e in evaluations if e.p_contextual >= p0 / 2), None)


def complaint(evaluations: list[Evaluation], p0: float, minimum_age: int) -> str | None:
    """What keeps the anchor from counting as converged, or None when nothing does."""
    formed = formed_at(evaluations, p0)
    if formed is None:
        return "the contextual route has not formed"
    if evaluations[-1].step - formed < minimum_age:
        return f"the anchor is {evaluations[-1].step - formed} updates old, younger than {minimum_age}"
    window = evaluations[-WINDOW:]
    if len(window) < WINDOW:
        return f"there are only {len(window)} evaluations"
    mass = min(e.answer_mass for e in window)
    if mass < ANSWER_MASS:
        return f"the answer mass is {mass:.3f}, below {ANSWER_MASS}"
    margins = np.array([e.margin for e in window])
    target = math.log(p0 / (1 - p0))
    if abs(margins.mean() - target) > MARGIN_TOLERANCE:
        return f"the mean margin is {margins.mean():+.3f}, not within {MARGIN_TOLERANCE} of {target:+.3f}"
    drift = np.polyfit(np.arange(WINDOW), margins, 1)[0] * (WINDOW - 1)
    if abs(drift) > DRIFT_TOLERANCE:
        return f"the margin drifts by {drift:+.3f} over the window, more than {DRIFT_TOLERANCE}"
    return None


def evaluate(state: TrainingState, trials: Trials, device: torch.device | str = "cpu") -> Evaluation:
    """The criterion's view of one state, measured on `device`."""
    values = measured(state, trials, device)
    return Evaluation(
        step=state.step,
        margin=float(values["margin"].mean(dtype=np.float64)),
        p_contextual=float(values["p_contextual"].mean(dtype=np.float64)),
        answer_mass=float((values["p_contextual"] + values["p_fixed"]).mean(dtype=np.float64)),
    )


def train_anchor(setup: SetUp, report: Callable[[Evaluation], None] | None = None) -> Anchor:
    """Train from initialisation at p0 until converged; UserError with what was missing at the limit."""
    trials, schedule = _trials(task_of(setup)), _schedule(setup)
    evaluations: list[Evaluation] = []
    for state in trajectory(initial_state(setup), schedule, at=range(EVERY, len(schedule) + 1, EVERY)):
        evaluations.append(evaluate(state, trials))
        if report is not None:
            report(evaluations[-1])
        if (anchor := _converged(state, evaluations)) is not None:
            return anchor
    raise _failure(setup, evaluations)


def train_anchors(setups: Sequence[SetUp], device: torch.device | str = "cpu") -> Iterator[tuple[int, Anchor]]:
    """Train many anchors in lockstep by `train_anchor`'s criterion; gives place and anchor of each as it converges.

    An anchor that has converged leaves the ensemble at that evaluation; the others go on without it. Raises UserError
    after the limit for the first that has not converged, and ValueError for set-ups that make no ensemble.
    """
    trials, schedules = [_trials(task_of(setup)) for setup in setups], [_schedule(setup) for setup in setups]
    evaluations: list[list[Evaluation]] = [[] for _ in setups]
    training = {place: initial_state(setup) for place, setup in enumerate(setups)}
    done = 0
    while training:
        places = list(training)
        rest = [schedules[place].take(slice(done, None)) for place in places]
        at = range(EVERY, len(rest[0]) + 1, EVERY)
        for states in trajectory_together(list(training.values()), rest, at, device):
            training = dict(zip(places, states, strict=True))
            done = states[0].step
            for place, state in zip(places, states, strict=True):
                evaluations[place].append(evaluate(state, trials[place], device))
                if (anchor := _converged(state, evaluations[place])) is not None:
                    del training[place]
                    yield place, anchor
            if len(training) < len(places):
                break
        else:
            raise _failure(setups[places[0]], evaluations[places[0]])


def _trials(task: Task) -> Trials:
    return task.trials(Stream("convergence", task.seed), TRIALS)


def _schedule(setup: SetUp) -> Schedule:
    limit = setup.training.convergence.limit
    return Schedule(np.full(limit, setup.p0), np.arange(limit), "anchor", setup.p0)


def _converged(state: TrainingState, evaluations: list[Evaluation]) -> Anchor | None:
    """The anchor, if this is the evaluation at which it has converged."""
    setup = state.setup
    if complaint(evaluations, setup.p0, setup.training.convergence.minimum_age) is not None:
        return None
    return Anchor(state, tuple(evaluations), formed_at(evaluations, setup.p0) or 0)


def _failure(setup: SetUp, evaluations: list[Evaluation]) -> UserError:
    convergence = setup.training.convergence
    return UserError(
        f"anchor of seed {setup.seed} has not converged after {convergence.limit} updates:"
        f" {complaint(evaluations, setup.p0, convergence.minimum_age)}; raise training.convergence.limit or change the"
        " optimizer."
    )
