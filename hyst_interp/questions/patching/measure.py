"""Patching maps of one network, averaged over trials, raw or as shares of the difference between its two runs."""

from typing import Literal

import numpy as np
import xarray as xr

from hyst_interp.analysis.pair_data import twin_trials
from hyst_interp.errors import refuse_unknown
from hyst_interp.interventions.patching import Axis, Direction, patching_map
from hyst_interp.interventions.sweep import sweep
from hyst_interp.model.hooked import Hooked
from hyst_interp.sites import SITES
from hyst_interp.statistics import over_trials
from hyst_interp.storage.checkpoint import Checkpoint
from hyst_interp.tasks.trials import Trials

Effect = Literal["raw", "normalised"]
EFFECTS = ("raw", "normalised")
AXES = ("position", "role")
DIRECTIONS = ("denoise", "noise")
ANSWERS = ("contextual", "fixed")


def history_map(
    model: Hooked,
    trials: Trials,
    site: str,
    direction: Direction = "denoise",
    axis: Axis = "position",
    effect: str = "raw",
) -> xr.DataArray:
    """Mean patching effects of one network on trials with a twin (see `Pair.patching`); UserError for unknown names."""
    for name, value, allowed in (
        ("site", site, SITES),
        ("direction", direction, DIRECTIONS),
        ("axis", axis, AXES),
        ("effect", effect, EFFECTS),
    ):
        refuse_unknown(name, value, allowed)
    patched = patching_map(model, trials, site, direction, axis)
    wholes = {"margin": (patched["donor"] - patched["base"]).values.astype(np.float64)}
    names = {"margin": "effect"}
    if trials.twin == "query":
        names = {f"{answer}_logit": f"{answer}_effect" for answer in ANSWERS}
        wholes |= _whole_logits(model, trials, list(names), direction)
    parts, reasons = [], []
    for quantity, name in names.items():
        part = patched[name].astype("float64").mean("trial")
        if effect == "normalised":
            whole = over_trials(wholes[quantity], "logits")
            known = whole.estimate if whole.excludes(0) else None
            part = part * np.nan if known is None else part / known
            if known is None:
                reasons.append(
                    f"the whole difference of the {quantity.replace('_', ' ')} may be 0: {whole.text()} logits"
                )
        parts.append(part)
    result = xr.concat(parts, dim="answer").assign_coords(answer=list(ANSWERS)) if len(parts) > 1 else parts[0]
    unit = "logits" if effect == "raw" else "share of the difference"
    attrs = {**patched.attrs, "effect": effect, "trials": len(trials), "units": unit, "reason": "; ".join(reasons)}
    return result.rename("effect").assign_attrs(attrs, whole=[float(wholes["margin"].mean())])


def _whole_logits(model: Hooked, trials: Trials, names: list[str], direction: Direction) -> dict[str, np.ndarray]:
    """Per trial, donor − base of the named logits: what a patch of everything would do to them."""
    clean, corrupted = (sweep(model, trials, [()], corrupted=side) for side in (False, True))
    donor, base = (clean, corrupted) if direction == "denoise" else (corrupted, clean)
    return {name: (donor[name] - base[name])[0].astype(np.float64) for name in names}


def checkpoint_map(
    checkpoint: Checkpoint,
    site: str,
    twin: str = "value",
    direction: Direction = "denoise",
    axis: Axis = "position",
    trials: int = 512,
    effect: Effect = "raw",
    seed: int | None = None,
) -> xr.DataArray:
    """`Pair.patching` for one checkpoint alone: a leading dim `history` with one entry, its branch or `anchor`."""
    asked = twin_trials(checkpoint.task, twin, trials, seed)
    effects = history_map(checkpoint.model(), asked, site, direction, axis, effect)
    return effects.expand_dims(history=[checkpoint.provenance.branch or "anchor"]).assign_attrs(effects.attrs)
