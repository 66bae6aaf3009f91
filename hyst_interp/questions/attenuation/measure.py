"""Gap attenuation: replace components in both histories, and see how much of the gap goes.

For a mean reference, both networks get the component's output replaced, and the gap is measured again:
logits moved = gap − gap after. For a donor, each network gets what the *other* history's component writes on the same
trial: from above into below and from below into above; the headline is the mean of the two directions, half their
difference is the interaction. The attenuation is the ratio of logits moved to the gap, unclipped.

A replacement at the query takes a network away from where it was trained, so every row also says how far: the answer
mass P(c) + P(f), and the mean margin, after it.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError
from hyst_interp.interventions.cached_run import CachedRun
from hyst_interp.interventions.references import (
    Means,
    built,
    edits_for,
    means,
    query_only,
)
from hyst_interp.readout import chunks
from hyst_interp.references import ANCHOR
from hyst_interp.references import Reference as ReferenceKind
from hyst_interp.references import reference as known_reference
from hyst_interp.sites import Component, ComponentSet

Plan = Mapping[str, Sequence[ComponentSet]]
"""Reference → sets whose outputs it replaces."""


def attenuation(pair: PairData, plan: Plan, positions: str = "query", strength: float = 1.0) -> xr.Dataset:
    """Every set of `plan` replaced by its reference: margins and answer mass before and after, per trial.

    Dims (branch, trial) for `margin`; (row, branch, trial) for `margin_after` and `answer_mass`; the coordinates
    `components` and `reference` name the rows. Raises UserError for anchor means without an anchor.
    """
    kinds = {name: known_reference(name) for name in plan}
    for name, kind in kinds.items():
        if kind.needs_anchor and pair.anchor is None:
            raise UserError(f"reference '{name}' needs the anchor; pass --anchor with its checkpoint.")
    rows = [(reference, some) for reference, sets in plan.items() for some in sets]
    members = frozenset(c for _, some in rows for c in some.members)
    models = {"below": pair.below, "above": pair.above}
    where = query_only(pair.trials.tokens.shape[1]) if positions == "query" else None
    averages = _averages(pair, kinds.values(), members, at_query=where is not None)
    shape = (len(rows), len(BRANCHES), len(pair.trials))
    before = np.empty(shape[1:], np.float32)
    margin, mass = np.empty(shape, np.float32), np.empty(shape, np.float32)
    for part in chunks(len(pair.trials)):
        trials = pair.trials.take(part)
        runs = {branch: CachedRun(model, trials) for branch, model in models.items()}
        written = {}
        if any(kind.is_exchange for kind in kinds.values()):
            written = {branch: run.written(members, at_query=where is not None) for branch, run in runs.items()}
        for index, branch in enumerate(BRANCHES):
            table = {
                name: {c: built(kind, c, branch, averages, written) for c in members} for name, kind in kinds.items()
            }
            cells = [edits_for(some.members, table[reference], where, strength) for reference, some in rows]
            swept = runs[branch].sweep([[], *cells])  # before and after by the same operations
            before[index, part] = swept["margin"][0]
            margin[:, index, part] = swept["margin"][1:]
            mass[:, index, part] = (swept["p_contextual"] + swept["p_fixed"])[1:]
    return xr.Dataset(
        {
            "margin": (
                ("branch", "trial"),
                before,
                {"units": "logits", "method": "margin before any replacement"},
            ),
            "margin_after": (
                ("row", "branch", "trial"),
                margin,
                {"units": "logits", "method": "margin with the set's outputs replaced"},
            ),
            "answer_mass": (
                ("row", "branch", "trial"),
                mass,
                {"units": "probability", "method": "P(contextual) + P(fixed) with the set's outputs replaced"},
            ),
        },
        coords={
            "branch": list(BRANCHES),
            "components": ("row", [component_set.name for _, component_set in rows]),
            "reference": ("row", [reference for reference, _ in rows]),
        },
        attrs={"positions": positions, "strength": strength, "inputs": len(pair.inputs)},
    )


def _averages(
    pair: PairData, kinds: Iterable[ReferenceKind], members: frozenset[Component], at_query: bool
) -> dict[str, Means]:
    """The means that the references need, by branch (and `anchor`)."""
    wanted = {source for kind in kinds for source in kind.means_of}
    models = {"below": pair.below, "above": pair.above, ANCHOR: pair.anchor}
    return {
        source: means(model, pair.inputs, members, at_query)
        for source, model in models.items()
        if source in wanted and model is not None
    }
