"""Two histories side by side: everything that a comparison needs, and no files."""

from dataclasses import dataclass

from hyst_interp.errors import UserError, refuse_unknown
from hyst_interp.model.hooked import Hooked
from hyst_interp.sites import ComponentSet, parse_sets
from hyst_interp.streams import Stream
from hyst_interp.tasks.protocol import Task
from hyst_interp.tasks.trials import Trials


@dataclass(frozen=True)
class PairData:
    """The two networks of a pair, the trials that they are compared on, and the inputs that means are taken over."""

    below: Hooked
    above: Hooked
    trials: Trials
    """Conflict trials, the same for both."""
    inputs: Trials
    """Trials of the input distribution, disjoint from `trials`."""
    task: Task
    """What both were trained on, and what `trials` ask."""
    anchor: Hooked | None = None
    """The common ancestor, for anchor means."""

    def sets(self, text: str) -> tuple[ComponentSet, ...]:
        """Component sets of this model (`each`, `heads`, `L0H1+L1MLP`, …); UserError for one that it lacks."""
        cfg = self.below.cfg
        return parse_sets(text, cfg.n_layers, cfg.n_heads, not cfg.attn_only)


def evaluation_trials(task: Task, n: int, seed: int | None = None, conflict: bool = True) -> Trials:
    """The first `n` evaluation trials; by default of the task's own seed, so that studies can be redone."""
    return task.trials(Stream("evaluation", task.seed if seed is None else seed), n, conflict)


def mean_inputs(task: Task, n: int, seed: int | None = None) -> Trials:
    """The first `n` trials of the input distribution for means, from a stream of their own."""
    return task.trials(Stream("means", task.seed if seed is None else seed), n, conflict=False)


def twin_trials(task: Task, twin: str, trials: int, seed: int | None) -> Trials:
    """Conflict trials with a twin; UserError for one that the task cannot make, or fewer than 2 trials."""
    refuse_unknown("twin", twin, task.twins)
    if trials < 2:
        raise UserError(f"trials is {trials}; use at least 2.")
    return task.twin(evaluation_trials(task, trials, seed), twin)


def refuse_other_shapes(pair: PairData) -> None:
    """UserError unless both histories are networks of one shape."""
    for name in ("n_layers", "n_heads", "d_model", "d_mlp", "d_vocab"):
        below, above = getattr(pair.below.cfg, name), getattr(pair.above.cfg, name)
        if below != above:
            raise UserError(
                f"{name} is {below} in the network from below and {above} in the one from above;"
                " compare two networks of one shape."
            )
