"""Cross-model patching: one place of one history moved into the other, same trials, both directions.

A cell is a place of the network (the residual stream at the entry of a layer, what a head or an MLP writes) at the
positions of one role, or everywhere. No token differs between the two runs, so every position counts. What heads and
MLPs write is in the frame of the residual stream: their own W_O, W_out go with it. A patch of the residual stream moves
the stream itself: the receiver's later weights then read a stream that they were not trained with, so moving all of it
does not give the donor's logits (`layer_swap` moves the later weights too, depth by depth).

Two runs a cell answer four questions. With A, B the histories, and logits moved counted towards the donor as the gap's
sign wants (negative: away from it),

    sufficient for A   A's content moved into B, read in B       = necessary for B
    necessary for A    B's content put in place of A's, in A     = sufficient for B

so `into_above` is how far from below's content suffices, and `into_below` how far it is needed. Their difference is the
asymmetry; both would be the same if everything after the cell were linear and alike in both histories.
"""

import numpy as np
import torch
import xarray as xr

from hyst_interp.analysis.pair_data import PairData, refuse_other_shapes
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError
from hyst_interp.interventions.cached_sweep import cached_sweep
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.hooks import contribution
from hyst_interp.interventions.install import capture
from hyst_interp.interventions.patching import Grid, grid, hook_at
from hyst_interp.model.hooked import Hooked, device_of, output_matrix
from hyst_interp.readout import chunks
from hyst_interp.sites import Site
from hyst_interp.tasks.trials import Trials

KINDS = ("resid_pre", "result", "mlp_out")
"""Sites whose content can be moved between histories."""
EVERYWHERE = "everywhere"
"""Place of a cell beside the roles: all positions."""
MAPS = {
    "sufficient": "from below’s moved into from above",
    "necessary": "from below’s replaced by from above’s",
    "asymmetry": "necessary − sufficient",
}
"""Map → what it shows, for what from below carries; for from above, the first two change places."""


def cross_model_patching(pair: PairData, kind: str) -> xr.Dataset:
    """Margins of both networks with every cell of site `kind` from the other history, per trial.

    Returns:
        `margin` (branch, trial); `margin_after` (branch, layer[, head], role, trial), where `branch` is the receiver.
        `role` holds the task's roles and `EVERYWHERE`; `resid_pre` has n_layers + 1 layers, the last being the final
        `resid_post`.

    Raises:
        UserError: a kind that cannot be moved, MLPs of a model without, or networks of different shapes.
    """
    plan = cells_of(pair, kind)
    shape = (len(BRANCHES), len(plan.sites) * len(plan.places), len(pair.trials))
    before, after = np.empty((shape[0], shape[2]), np.float32), np.empty(shape, np.float32)
    models = {"below": pair.below, "above": pair.above}
    for part in chunks(len(pair.trials)):
        trials = pair.trials.take(part)
        for index, branch in enumerate(BRANCHES):
            donor = contents(models[BRANCHES[1 - index]], trials, plan.sites)
            cells = [[Edit(site, donor[site], 1.0, mask)] for site in plan.sites for mask in place_masks(trials)]
            margins = cached_sweep(models[branch], trials, [[], *cells])["margin"]
            before[index, part], after[index, :, part] = margins[0], margins[1:]
    dims = ("branch", *plan.dims, "trial")
    unit = {"units": "logits"}
    return xr.Dataset(
        {
            "margin": (("branch", "trial"), before, {**unit, "method": "margin with nothing moved"}),
            "margin_after": (
                dims,
                after.reshape(len(BRANCHES), *plan.shape, len(pair.trials)),
                {**unit, "method": "margin of the receiver with the cell from the other history"},
            ),
        },
        {"branch": list(BRANCHES), **plan.coords},
        {"site": kind},
    )


def cells_of(pair: PairData, kind: str) -> Grid:
    """The map's cells; UserError as `cross_model_patching` says."""
    if kind not in KINDS:
        raise UserError(f"site '{kind}' cannot be moved between histories; use one of {', '.join(KINDS)}.")
    refuse_other_shapes(pair)
    cfg = pair.below.cfg
    if kind == "mlp_out" and cfg.attn_only:
        raise UserError("site 'mlp_out' does not exist in this model, which has no MLPs; use resid_pre or result.")
    plan = grid(kind, cfg.n_layers, cfg.n_heads, "role", pair.trials)
    places = (*plan.places, EVERYWHERE)
    return Grid(plan.sites, places, plan.dims, plan.coords | {"role": list(places)})


def contents(model: Hooked, trials: Trials, sites: tuple[Site, ...]) -> dict[Site, Reference]:
    """What stands at every site of a donor on these trials: the stream, or what a component adds to it."""
    names = {site: hook_at(site, model.cfg.n_layers) for site in sites}
    tokens = torch.from_numpy(trials.tokens).to(device_of(model))
    _, acts = capture(model, tokens, sorted(set(names.values())))
    references = {}
    for site, name in names.items():
        if site.head is None:
            references[site] = Reference(acts[name], per_trial=True)
        else:
            written = contribution(acts[name][:, :, site.head], output_matrix(model, site.layer)[site.head])
            references[site] = Reference(written, per_trial=True, frame="stream")
    return references


def place_masks(trials: Trials) -> list[np.ndarray]:
    """Positions of every role, then of all, [trial, pos]."""
    return [*(trials.role_positions(role) for role in trials.role_names), np.ones(trials.tokens.shape, dtype=bool)]
