"""The mechanism beside the behaviour at every τ: what moving parts between the histories still moves, in logits.

The behaviour's difference is the gap. The mechanism's is what the gap loses when the heads' outputs, the MLPs' outputs,
both, or the residual stream at the entry of a layer are moved at the query from one history into the other. A share of
the gap cannot tell the two apart as they fade, so both are kept in logits, trial by trial, at every stop of a
relaxation; `over_time_table` says how much of its own value at arrival each has left, and which of them is later.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from torch import from_numpy

from hyst_interp.analysis.exchange import exchanged
from hyst_interp.analysis.pair_data import PairData, refuse_other_shapes
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError
from hyst_interp.interventions.cached_sweep import cached_sweep
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.references import edits_for, query_only, written_by
from hyst_interp.interventions.sweep import Cell
from hyst_interp.model.hooked import Hooked
from hyst_interp.questions.crossing.measure import contents
from hyst_interp.readout import chunks
from hyst_interp.sites import Component, Site
from hyst_interp.tasks.trials import Trials


@dataclass(frozen=True)
class Stop:
    """A pair of histories at one moment."""

    position: int
    """Updates since the fork."""
    tau: int | None
    """Updates since the last one away from p0; None where there was none."""
    pair: PairData


def crossing_over_time(stops: Iterable[Stop]) -> xr.Dataset:
    """What every mechanism moves at every stop, per trial; stops may be made one by one as they are asked for.

    Args:
        stops: in the order of their positions, the first at arrival; the same trials at all of them.

    Returns:
        `margin` (position, branch, trial); `margin_after` (position, mechanism, branch, trial), `branch` the receiver;
        the coordinate `tau` (position), NaN for None. `mechanism` holds `heads`, `mlps`, `all` (without MLPs, `heads`
        alone), then `resid_pre 0` … `resid_post`.

    Raises:
        UserError: no stops, positions that do not rise, other trials at a later stop, or networks of other shapes.
    """
    measured: list[xr.Dataset] = []
    tokens: np.ndarray | None = None
    for stop in stops:
        if measured and stop.position <= int(measured[-1]["position"]):
            raise UserError(
                f"position {stop.position} follows {int(measured[-1]['position'])}; give the stops in rising order."
            )
        if tokens is not None and not np.array_equal(tokens, stop.pair.trials.tokens):
            raise UserError(
                f"the trials at position {stop.position} are others than before; use the same at all stops."
            )
        tokens = stop.pair.trials.tokens
        measured.append(_at(stop))
    if not measured:
        raise UserError("there are no stops; give at least the pair at arrival.")
    return xr.concat(measured, "position", coords="different", compat="equals")


def over_time_values(followed: xr.Dataset) -> xr.Dataset:
    """Gap and logits moved at every stop, trials and further dims (seed, order) kept; in logits, float64.

    Variables: `gap` (position); `into_below`, `into_above`, and their mean `moved` (position, mechanism).
    """
    return exchanged(followed).drop_vars("interaction")


def _at(stop: Stop) -> xr.Dataset:
    pair, n_layers = stop.pair, stop.pair.below.cfg.n_layers
    refuse_other_shapes(pair)
    sets = pair.sets("heads" if pair.below.cfg.attn_only else "heads,mlps,all")
    members = frozenset(c for component_set in sets for c in component_set.members)
    streams = tuple(Site("resid_pre", row) for row in range(n_layers + 1))
    names = [
        *(component_set.name for component_set in sets),
        *(f"resid_pre {row}" for row in range(n_layers)),
        "resid_post",
    ]
    before = np.empty((len(BRANCHES), len(pair.trials)), np.float32)
    after = np.empty((len(names), *before.shape), np.float32)
    models = {"below": pair.below, "above": pair.above}
    for part in chunks(len(pair.trials)):
        trials = pair.trials.take(part)
        for index, branch in enumerate(BRANCHES):
            donor = models[BRANCHES[1 - index]]
            written = _written(donor, trials, members)
            where = query_only(trials.tokens.shape[1])
            stream = contents(donor, trials, streams)
            cells: list[Cell] = [edits_for(component_set.members, written, where) for component_set in sets]
            cells += [[Edit(site, stream[site], 1.0, where)] for site in streams]
            margins = cached_sweep(models[branch], trials, [[], *cells])["margin"]
            before[index, part], after[:, index, part] = margins[0], margins[1:]
    unit = {"units": "logits"}
    method = "margin of the receiver with the mechanism's output at the query from the other history"
    return xr.Dataset(
        {
            "margin": (("branch", "trial"), before, {**unit, "method": "margin with nothing moved"}),
            "margin_after": (("mechanism", "branch", "trial"), after, {**unit, "method": method}),
        },
        {
            "branch": list(BRANCHES),
            "mechanism": names,
            "position": stop.position,
            "tau": float("nan") if stop.tau is None else float(stop.tau),
        },
    )


def _written(model: Hooked, trials: Trials, members: frozenset[Component]) -> dict[Component, Reference]:
    written = written_by(model, from_numpy(trials.tokens), members, at_query=True)
    return {c: Reference(value, per_trial=True, frame="stream") for c, value in written.items()}
