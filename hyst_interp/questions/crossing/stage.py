"""Move places of one history into the other on arrival, and follow what moving still does through the hold."""

from collections.abc import Iterator

import xarray as xr

from hyst_interp.analysis.pair_data import PairData, mean_inputs
from hyst_interp.analysis.stage_inputs import StageInputs
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.config.study import hold_positions
from hyst_interp.history.advance import trajectory
from hyst_interp.history.schedule import hold_schedule
from hyst_interp.history.state import TrainingState
from hyst_interp.questions.crossing.crossing_over_time import Stop, crossing_over_time
from hyst_interp.questions.crossing.layer_swap import layer_swap
from hyst_interp.questions.crossing.measure import KINDS, cross_model_patching

FOLLOWED = 256
"""Trials that are followed through the hold, at most: they are kept at every position."""


def run(inputs: StageInputs) -> dict[str, xr.Dataset]:
    """`crossing-SITE`, `ladder`, and `mechanism` (position, mechanism, …)."""
    pair = inputs.pair(inputs.study.localization.trials)
    kinds = [kind for kind in KINDS if kind != "mlp_out" or inputs.study.model.d_mlp]
    results = {f"crossing-{kind}": cross_model_patching(pair, kind) for kind in kinds}
    return results | {"ladder": layer_swap(pair), "mechanism": crossing_over_time(_stops(inputs))}


def _stops(inputs: StageInputs) -> Iterator[Stop]:
    """Both histories at every measured position of the hold."""
    trials = inputs.trials(min(FOLLOWED, inputs.study.localization.trials))
    for below, above in _states(inputs):
        pair = PairData(below.model(), above.model(), trials, mean_inputs(inputs.task, 2), inputs.task)
        yield Stop(below.position, below.tau, pair)


def _states(inputs: StageInputs) -> Iterator[tuple[TrainingState, TrainingState]]:
    """Both branches trained on from arrival."""
    study, at = inputs.study, (0, *hold_positions(inputs.study))
    below, above = (
        trajectory(inputs.branch(branch).state(), hold_schedule(study.holds[-1], study.p0), at) for branch in BRANCHES
    )
    yield from zip(below, above, strict=True)
