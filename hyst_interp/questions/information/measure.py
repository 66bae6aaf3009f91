"""Mean or information: every component replaced part by part at the query, and how far each replacement leads.

What a component writes at the query in a history is its mean and the rest: w(t) = m + (w(t) − m). The mean m is over
the input distribution (`PairData.inputs`, disjoint from the trials). The trials are those on which the two answers
differ, so the input-dependent part need not average to 0 over them: what all conflict trials share, but other inputs do
not, is information too. With o the other history, host h writes

    whole         w_o(t)                     the donor of `questions.attenuation`
    mean          w_h(t) + (m_o − m_h)       the other's mean with its own input-dependent part
    information   m_h + (w_o(t) − m_o)       its own mean with the other's input-dependent part
    own-mean, other-mean, pooled-mean, anchor-mean      a mean alone: information removed altogether

All are in the frame of the residual stream (a head's W_O goes with what it writes), but the own mean, which is put in
before W_O. Members of a joint set are held at what they wrote in the undisturbed runs, as donors are, so that the parts
of a joint set add up component by component. The receiving network's later weights read what they were not trained
with; the distances say how much that matters. `summary` makes shares, remainders, and verdicts of all this.
"""

from collections.abc import Mapping

import numpy as np
import torch
import xarray as xr

from hyst_interp.analysis.pair_data import PairData, refuse_other_shapes
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.interventions.cached_run import CachedRun
from hyst_interp.interventions.edit import Reference
from hyst_interp.interventions.observe import READOUT, both
from hyst_interp.interventions.references import (
    Means,
    built,
    edits_for,
    means,
    query_only,
    stream_mean,
)
from hyst_interp.model.hooked import Hooked
from hyst_interp.questions.information.off_distribution import DISTANCE, DISTANCES, divergence
from hyst_interp.readout import chunks
from hyst_interp.references import ANCHOR, ANCHOR_MEAN, OWN_MEAN, POOLED_MEAN
from hyst_interp.sites import Component

PARTS = ("whole", "mean", "information")
"""What of the other history is moved."""
OTHER_MEAN = "other-mean"
MEANS = (OWN_MEAN.name, OTHER_MEAN, POOLED_MEAN.name, ANCHOR_MEAN.name)
"""Means that a component is replaced by."""
REPLACEMENTS = (*PARTS, *MEANS)

SEEN = both(READOUT, DISTANCE)
"""What is looked at in every run: the readout, and how far it leads."""
Table = dict[str, dict[Component, Reference]]
"""Replacement → component → what is put in."""


def information(pair: PairData, components: str = "each,heads,mlps,all") -> xr.Dataset:
    """Every set of components under every replacement at the query, per trial.

    Costs one pass over the means' inputs, two passes a chunk of trials, and one position for every cell. Anchor means
    are left out for a pair without an anchor.

    Returns:
        `margin`, `answer_mass` (branch, trial) before; `margin_after`, `answer_mass_after`, `divergence`,
        `stream_change` (replacement, components, branch, trial); `divergence_between` (branch, trial), KL of a
        history's own distribution from the other history's: the yardstick for `divergence`.

    Raises:
        UserError: a component that the model lacks, or networks of different shapes.
    """
    refuse_other_shapes(pair)
    if components == "each,heads,mlps,all" and pair.below.cfg.attn_only:
        components = "each,heads"
    sets = pair.sets(components)
    members = frozenset(c for component_set in sets for c in component_set.members)
    networks = {**_models(pair), **({} if pair.anchor is None else {ANCHOR: pair.anchor})}
    averages = {name: means(model, pair.inputs, members, at_query=True) for name, model in networks.items()}
    names = [name for name in REPLACEMENTS if name != ANCHOR_MEAN.name or pair.anchor is not None]
    before_shape = (len(BRANCHES), len(pair.trials))
    shape = (len(names), len(sets), *before_shape)
    before = {name: np.empty(before_shape, np.float32) for name in ("margin", "answer_mass", "divergence_between")}
    after = {name: np.empty(shape, np.float32) for name in ("margin_after", "answer_mass_after", *DISTANCES)}
    where = query_only(pair.trials.tokens.shape[1])
    for part in chunks(len(pair.trials)):
        trials = pair.trials.take(part)
        runs = {branch: CachedRun(model, trials) for branch, model in _models(pair).items()}
        written = {branch: run.written(members, at_query=True) for branch, run in runs.items()}
        logits = {branch: run.seen().logits for branch, run in runs.items()}
        for index, branch in enumerate(BRANCHES):
            other = BRANCHES[1 - index]
            table = replacements(branch, written, averages)
            cells = [edits_for(component_set.members, table[name], where) for name in names for component_set in sets]
            measured = runs[branch].sweep([[], *cells], SEEN)  # before and after by the same operations
            mass = measured["p_contextual"] + measured["p_fixed"]
            before["margin"][index, part], before["answer_mass"][index, part] = measured["margin"][0], mass[0]
            before["divergence_between"][index, part] = divergence(logits[branch], logits[other]).numpy()
            far = {name: measured[name][1:] for name in DISTANCES}
            for name, values in {"margin_after": measured["margin"][1:], "answer_mass_after": mass[1:], **far}.items():
                after[name][:, :, index, part] = values.reshape(len(names), len(sets), len(trials))
    return _dataset(before, after, names, [component_set.name for component_set in sets], len(pair.inputs))


def replacements(
    branch: str, written: Mapping[str, Mapping[Component, torch.Tensor]], averages: Mapping[str, Means]
) -> Table:
    """What is put into the network of `branch`, for every replacement that the averages allow.

    Args:
        written: branch → component → what it writes at the query [trial, 1, d_model], in the undisturbed run.
        averages: branch (and `anchor`) → means.
    """
    other = BRANCHES[1 - BRANCHES.index(branch)]  # type: ignore[arg-type]
    table: Table = {name: {} for name in REPLACEMENTS if name != ANCHOR_MEAN.name or ANCHOR in averages}
    means_alone = [kind for kind in (OWN_MEAN, POOLED_MEAN, ANCHOR_MEAN) if kind.name in table]
    for c, own in written[branch].items():
        donor = written[other][c]
        mean, other_mean = (averages[which].written[c][-1].to(own.device) for which in (branch, other))
        # Written as changes of what stands there, so that a history which is its own donor changes nothing, exactly.
        table["whole"][c] = _donor(donor)
        table["mean"][c] = _donor(own + (other_mean - mean))
        table["information"][c] = _donor(own + ((donor - other_mean) - (own - mean)))
        table[OTHER_MEAN][c] = stream_mean(c, averages[other])
        for kind in means_alone:
            table[kind.name][c] = built(kind, c, branch, averages, written)
    return table


def _models(pair: PairData) -> dict[str, Hooked]:
    return {"below": pair.below, "above": pair.above}


def _donor(values: torch.Tensor) -> Reference:
    return Reference(values, per_trial=True, frame="stream")


def _dataset(before: dict, after: dict, names: list[str], sets: list[str], inputs: int) -> xr.Dataset:
    words = {
        "margin": ("margin before any replacement", "logits"),
        "answer_mass": ("P(contextual) + P(fixed) before any replacement", "probability"),
        "divergence_between": ("KL(own ‖ the other history's) at the query, nothing replaced", "nats"),
        "margin_after": ("margin with the set's outputs at the query replaced", "logits"),
        "answer_mass_after": ("P(contextual) + P(fixed) with the set's outputs at the query replaced", "probability"),
        **DISTANCES,
    }
    dims = {name: ("branch", "trial") for name in before} | {
        name: ("replacement", "components", "branch", "trial") for name in after
    }
    variables = {
        name: (dims[name], values, {"method": words[name][0], "units": words[name][1]})
        for name, values in (before | after).items()
    }
    coords = {"replacement": names, "components": sets, "branch": list(BRANCHES)}
    return xr.Dataset(variables, coords, {"positions": "query", "inputs": inputs})
