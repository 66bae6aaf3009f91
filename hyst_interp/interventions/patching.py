"""Activation patching: carry one site of one run into another, cell by cell, trial by trial.

Denoising patches the clean run's activations into the corrupted run, noising the other way. The raw effect of a cell is
margin(patched) − margin(base) in logits; the normalised effect is a ratio of means over trials, 1 = full. Margins
always use the clean trial's two answers. A role cell patches all positions of the role from the first changed token on,
in one run; a position cell patches one position.
"""

import json
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool

from hyst_interp.interventions.cached_sweep import cached_sweep
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.install import capture
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.readout import chunks, read
from hyst_interp.sites import Site, check_layer, hook_mlp_out, hook_pattern, hook_resid, hook_z
from hyst_interp.tasks.trials import Trials

Direction = Literal["denoise", "noise"]
Axis = Literal["role", "position"]
ANSWERS = ("margin", "contextual_logit", "fixed_logit")


@dataclass(frozen=True)
class Grid:
    """The cells of a map: sites × places, row-major, with their labels."""

    sites: tuple[Site, ...]
    places: tuple[str, ...]
    dims: tuple[str, ...]
    coords: dict[str, list]

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of `dims`."""
        return tuple(len(self.coords[dim]) for dim in self.dims)


def grid(kind: str, n_layers: int, n_heads: int, axis: Axis, trials: Trials) -> Grid:
    """Cells of site `kind`: (layer, place), or (layer, head, place) for heads' outputs and patterns.

    Places are the roles or the positions of the trials' own task.
    """
    places = trials.role_names if axis == "role" else trials.position_labels
    place = "role" if axis == "role" else "pos"
    if kind in ("result", "pattern"):
        sites = tuple(Site(kind, layer, head) for layer in range(n_layers) for head in range(n_heads))
        coords = {"layer": list(range(n_layers)), "head": list(range(n_heads)), place: list(places)}
        return Grid(sites, places, ("layer", "head", place), coords)
    rows = n_layers + 1 if kind == "resid_pre" else n_layers
    sites = tuple(Site(kind, layer) for layer in range(rows))
    return Grid(sites, places, ("layer", place), {"layer": list(range(rows)), place: list(places)})


def unchanged_by(twin: str) -> str:
    """Attribute of a map, a JSON list: places before the first token that this twin changes.

    The name has the twin in it, so that maps of several twins can be joined and each keeps its own.
    """
    return f"unchanged_by_{twin}"


def hook_at(site: Site, n_layers: int) -> str:
    """Hook at which a site is read and patched within one network; UserError for a layer that it does not have."""
    check_layer(site, n_layers)
    match site.kind:
        case "resid_pre":
            return hook_resid(site.layer, n_layers)
        case "mlp_out":
            return hook_mlp_out(site.layer)
        case "pattern":
            return hook_pattern(site.layer)
        case _:
            return hook_z(site.layer)


def masks(trials: Trials, axis: Axis) -> list[Bool[np.ndarray, "trial pos"]]:
    """Positions of every place of an axis: those of a role, or one; none before the first changed token.

    Up to there both runs are the same, so a patch could change nothing.
    """
    n_pos = trials.tokens.shape[1]
    after = np.arange(n_pos)[None] >= trials.changed.argmax(1)[:, None]
    if axis == "position":
        return [position & after for position in np.eye(n_pos, dtype=bool)]
    return [trials.role_positions(role) & after for role in trials.role_names]


def patching_map(
    model: Hooked, trials: Trials, kind: str, direction: Direction = "denoise", axis: Axis = "role"
) -> xr.Dataset:
    """Effects of patching every cell of site `kind`, per trial.

    Variables: `effect` (…, trial), the raw effect on the margin; `contextual_effect` and `fixed_effect`, the same for
    each answer's logit; `base` and `donor` (trial), the margins of the run patched into and of the run patched from.
    """
    plan = grid(kind, model.cfg.n_layers, model.cfg.n_heads, axis, trials)
    parts = [_chunk(model, trials.take(part), plan, direction, axis) for part in chunks(len(trials))]
    dims = (*plan.dims, "trial")
    unit = {"units": "logits"}
    joined = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
    variables = {
        "effect": (dims, joined["margin"], {**unit, "method": "margin patched − margin of the base run"}),
        "contextual_effect": (dims, joined["contextual_logit"], {**unit, "method": "the same for logit[contextual]"}),
        "fixed_effect": (dims, joined["fixed_logit"], {**unit, "method": "the same for logit[fixed]"}),
        "base": (("trial",), joined["base"], {**unit, "method": "margin of the run that is patched into"}),
        "donor": (("trial",), joined["donor"], {**unit, "method": "margin of the run that is patched from"}),
    }
    attrs = {"site": kind, "direction": direction, "axis": axis, "twin": str(trials.twin)}
    unchanged = trials.unchanged_roles if axis == "role" else trials.unchanged_positions
    attrs[unchanged_by(str(trials.twin))] = json.dumps(unchanged)
    return xr.Dataset(variables, coords=plan.coords, attrs=attrs)


def _chunk(model: Hooked, trials: Trials, plan: Grid, direction: Direction, axis: Axis) -> dict[str, np.ndarray]:
    n_layers = model.cfg.n_layers
    names = sorted({hook_at(site, n_layers) for site in plan.sites})
    source = trials.tokens if direction == "denoise" else trials.corrupted
    donor_logits, acts = capture(model, torch.from_numpy(source).to(device_of(model)), names)
    donor = read(donor_logits[:, -1], trials)["margin"]
    cells = [
        [Edit(site, Reference(_own(acts[hook_at(site, n_layers)], site), per_trial=True), 1.0, mask)]
        for site in plan.sites
        for mask in masks(trials, axis)
    ]
    measured = cached_sweep(model, trials, [[], *cells], corrupted=direction == "denoise")
    effects = {name: (measured[name][1:] - measured[name][:1]).reshape(*plan.shape, len(trials)) for name in ANSWERS}
    return effects | {"base": measured["margin"][0], "donor": donor}


def _own(act: torch.Tensor, site: Site) -> torch.Tensor:
    """The site's part of an activation: one head of `hook_z` or of a pattern, or the whole."""
    if site.head is None:
        return act
    return act[:, :, site.head] if site.kind == "result" else act[:, site.head]


def normalised(effects: xr.Dataset) -> xr.DataArray:
    """Mean raw effect over mean (donor − base), a ratio of means over trials; 1 = the whole difference."""
    full = (effects["donor"] - effects["base"]).astype("float64").mean("trial")
    return (effects["effect"].astype("float64").mean("trial") / full).assign_attrs(units="share of the difference")
