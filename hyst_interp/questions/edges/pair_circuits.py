"""The circuits of both histories at one faithfulness, each judged on other trials than it was ranked on.

Edges are ranked by |mean effect| on every other trial, and the circuit is read off the curve of the rest, so that no
circuit is flattered by the trials that chose it. Beside it stands what random circuits of the same size keep.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions.edges.edge_circuits import (
    FAITHFULNESS,
    Circuit,
    circuit,
    faithfulness_curve,
    random_rankings,
    ranking,
    shares,
)
from hyst_interp.questions.edges.measure import pair_effects
from hyst_interp.streams import Stream
from hyst_interp.tasks.trials import Trials

FLOORS = 3
"""Random circuits that one is read against."""


@dataclass(frozen=True)
class JudgedCircuit:
    """A circuit, the curve that it was read off, and its floor."""

    circuit: Circuit
    curve: xr.DataArray
    """Share that every size of the ranking keeps, dims (size,)."""
    floor: tuple[float, ...]
    """Shares that random circuits of the same size keep."""
    ranked_on: int
    """Trials that the edges were ranked on."""
    judged_on: int
    """Trials that the shares were measured on."""


def pair_circuits(
    pair: PairData,
    twins: Trials,
    stream: Stream,
    faithfulness: float = FAITHFULNESS,
    effects: xr.Dataset | None = None,
) -> dict[str, JudgedCircuit]:
    """The circuit of each history: branch → JudgedCircuit. Costs one run a size and history.

    Args:
        twins: conflict trials with a twin, at least 4.
        stream: where the random rankings come from; role `resampling`.
        faithfulness: share of the difference between clean and corrupted that a circuit has to keep.
        effects: `pair_effects` of the same trials, where they are at hand.

    Raises:
        UserError: a share outside (0, 1]; trials without a twin; a model whose edges cannot be patched.
    """
    exact_effects = pair_effects(pair, twins) if effects is None else effects
    odd = np.arange(len(twins)) % 2 == 1
    judged = twins.take(~odd)
    circuits = {}
    for branch, model in zip(BRANCHES, (pair.below, pair.above), strict=True):
        order = ranking(exact_effects["effect"].sel(branch=branch, drop=True).isel(trial=odd))
        curve = faithfulness_curve(model, judged, order)
        branch_circuit = circuit(curve, order, faithfulness)
        floor = tuple(
            float(shares(faithfulness_curve(model, judged, other, [len(branch_circuit)])).values[0])
            for other in random_rankings(model, stream, FLOORS)
        )
        circuits[branch] = JudgedCircuit(branch_circuit, shares(curve), floor, int(odd.sum()), len(judged))
    return circuits
