"""Training an anchor until it has converged, by a criterion that looks at neither gap nor attenuation.

Evaluated every 50 updates on 2,048 conflict trials. An anchor has converged when, over the last five evaluations, the
answer mass P(c) + P(f) is at least 0.97 in each, the mean of their margins is within 0.15 of log(p0/(1−p0)), and the
change fitted to them is within ±0.15; and when at least `minimum_age` updates have passed since the contextual route
formed, the first evaluation with mean P(c) ≥ p0/2. Reaching the limit without that is a failure, said in one sentence.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hyst_interp.config import SetUp
from hyst_interp.errors import UserError
from hyst_interp.history.advance import trajectory
from hyst_interp.history.guard import one_thread
from hyst_interp.history.schedule import Schedule
from hyst_interp.history.state import TrainingState, initial_state
from hyst_interp.model.query_forward import query_logits
from hyst_interp.readout import measure
from hyst_interp.streams import Stream
from hyst_interp.tasks.recall import task_of
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


def evaluate(state: TrainingState, trials: Trials) -> Evaluation:
    """The criterion's view of one state."""
    config, model = state.setup.model, state.model()
    with one_thread():
        values = measure(lambda tokens: query_logits(config, model, tokens), trials)
    return Evaluation(
        step=state.step,
        margin=float(values["margin"].mean(dtype=np.float64)),
        p_contextual=float(values["p_contextual"].mean(dtype=np.float64)),
        answer_mass=float((values["p_contextual"] + values["p_fixed"]).mean(dtype=np.float64)),
    )


def train_anchor(setup: SetUp, report: Callable[[Evaluation], None] | None = None) -> Anchor:
    """Train from initialisation at p0 until converged; UserError with what was missing at the limit."""
    limit, minimum_age = setup.training.convergence.limit, setup.training.convergence.minimum_age
    trials = task_of(setup).trials(Stream("convergence", setup.seed), TRIALS)
    schedule = Schedule(np.full(limit, setup.p0), np.arange(limit), "anchor", setup.p0)
    evaluations: list[Evaluation] = []
    for state in trajectory(initial_state(setup), schedule, at=range(EVERY, limit + 1, EVERY)):
        evaluations.append(evaluate(state, trials))
        if report is not None:
            report(evaluations[-1])
        if complaint(evaluations, setup.p0, minimum_age) is None:
            return Anchor(state, tuple(evaluations), formed_at(evaluations, setup.p0) or 0)
    raise UserError(
        f"anchor of seed {setup.seed} has not converged after {limit} updates:"
        f" {complaint(evaluations, setup.p0, minimum_age)}; raise training.convergence.limit or change the optimizer."
    )
