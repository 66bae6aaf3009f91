"""Gap attenuation: replace components in both histories, and see how much of the gap goes.

For a mean reference, both networks get the component's output replaced, and the gap is measured again:
logits moved = gap − gap after. For a donor, each network gets what the *other* history's component writes on the same
trial: from above into below and from below into above; the headline is the mean of the two directions, half their
difference is the interaction. The attenuation is the ratio of logits moved to the gap, unclipped.

A replacement at the query takes a network away from where it was trained, so every row also says how far: the answer
mass P(c) + P(f), and the mean margin, after it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError
from hyst_interp.interventions.cached_run import CachedRun
from hyst_interp.interventions.edit import Reference
from hyst_interp.interventions.references import (
    Means,
    edits_for,
    means,
    own_mean,
    query_only,
    stream_mean,
)
from hyst_interp.readout import chunks
from hyst_interp.sites import Component, ComponentSet

Plan = Mapping[str, Sequence[ComponentSet]]
"""Reference → sets whose outputs it replaces."""


def attenuation(pair: PairData, plan: Plan, positions: str = "query", strength: float = 1.0) -> xr.Dataset:
    """Every set of `plan` replaced by its reference: margins and answer mass before and after, per trial.

    Dims (branch, trial) for `margin`; (row, branch, trial) for `margin_after` and `answer_mass`; the coordinates
    `components` and `reference` name the rows. Raises UserError for anchor means without an anchor.
    """
    if "anchor-mean" in plan and pair.anchor is None:
        raise UserError("reference 'anchor-mean' needs the anchor; pass --anchor with its checkpoint.")
    rows = [(reference, some) for reference, sets in plan.items() for some in sets]
    members = frozenset(c for _, some in rows for c in some.members)
    models = {"below": pair.below, "above": pair.above}
    where = query_only(pair.trials.tokens.shape[1]) if positions == "query" else None
    averages = _averages(pair, set(plan), members, at_query=where is not None)
    shape = (len(rows), len(BRANCHES), len(pair.trials))
    before = np.empty(shape[1:], np.float32)
    margin, mass = np.empty(shape, np.float32), np.empty(shape, np.float32)
    for part in chunks(len(pair.trials)):
        trials = pair.trials.take(part)
        runs = {branch: CachedRun(model, trials) for branch, model in models.items()}
        for index, branch in enumerate(BRANCHES):
            table = _references(branch, averages, members)
            if "donor" in plan:
                written = runs[BRANCHES[1 - index]].written(members, at_query=where is not None)
                table["donor"] = {c: Reference(value, per_trial=True, frame="stream") for c, value in written.items()}
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
            "components": ("row", [one.name for _, one in rows]),
            "reference": ("row", [reference for reference, _ in rows]),
        },
        attrs={"positions": positions, "strength": strength, "inputs": len(pair.inputs)},
    )


def _averages(pair: PairData, references: set[str], members: frozenset[Component], at_query: bool) -> dict[str, Means]:
    """The means that the references need, by branch (and `anchor`)."""
    averages: dict[str, Means] = {}
    if references & {"own-mean", "pooled-mean"}:
        averages = {
            "below": means(pair.below, pair.inputs, members, at_query),
            "above": means(pair.above, pair.inputs, members, at_query),
        }
    if "anchor-mean" in references and pair.anchor is not None:
        averages["anchor"] = means(pair.anchor, pair.inputs, members, at_query)
    return averages


def _references(
    branch: str, averages: dict[str, Means], members: frozenset[Component]
) -> dict[str, dict[Component, Reference]]:
    """Mean references → component → what is put into the network of `branch`."""
    table: dict[str, dict[Component, Reference]] = {}
    if branch in averages:
        table["own-mean"] = {c: own_mean(c, averages[branch]) for c in members}
        pooled = (averages["below"], averages["above"])
        table["pooled-mean"] = {c: stream_mean(c, *pooled) for c in members}
    if "anchor" in averages:
        table["anchor-mean"] = {c: stream_mean(c, averages["anchor"]) for c in members}
    return table
