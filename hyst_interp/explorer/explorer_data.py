"""What an explorer shows of two histories, head by head, as one labelled Dataset.

For a few trials: each history's logits, margin and attention patterns. For every head: its QK and OV circuits over
token ids (`model/circuits.py` says what they leave out). Nothing is averaged and nothing is judged: this is for
looking, the numbers with intervals are made elsewhere.
"""

from collections.abc import Callable

import numpy as np
import torch
import xarray as xr
from jaxtyping import Int

from hyst_interp.analysis.histories import Histories
from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError
from hyst_interp.interventions.install import capture
from hyst_interp.model.circuits import ov_circuit, qk_circuit
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.readout import read
from hyst_interp.sites import hook_pattern
from hyst_interp.storage.manifest import describe
from hyst_interp.tasks.trials import Trials

HISTORIES = [*BRANCHES, "difference"]


def circuits(below: Hooked, above: Hooked, trials: Trials) -> xr.Dataset:
    """`qk` (history, layer, head, query_token, key_token) and `ov` (history, layer, head, source, token).

    `history` is below, above, and their difference; tokens are named as `trials` names them (`k0 … v0 …`).
    """
    names = list(trials.token_names)
    attrs = {
        "qk": ("scores", "QK circuit: query token × key token"),
        "ov": ("logits before the final LayerNorm's division", "OV circuit: attended token → logits"),
    }
    dims = {"qk": ("query_token", "key_token"), "ov": ("source", "token")}
    values = {name: _heads(matrix, (below, above)) for name, matrix in (("qk", qk_circuit), ("ov", ov_circuit))}
    variables = {
        name: (
            ("history", "layer", "head", *dims[name]),
            _with_difference(values[name]),
            {"units": attrs[name][0], "method": attrs[name][1]},
        )
        for name in values
    }
    coords = {"history": HISTORIES, **{dim: names for pair in dims.values() for dim in pair}}
    return xr.Dataset(variables, _counted(coords, below))


def exploration(below: Hooked, above: Hooked, trials: Trials, rule: Int[np.ndarray, " key"]) -> xr.Dataset:
    """Both histories on a few trials, and every head's circuits.

    Args:
        below, above: the two networks.
        trials: what they are asked, the same for both; all of them are kept, so give few.
        rule: the fixed answer's token id for every key, π.

    Returns:
        `pattern` (history, trial, layer, head, query_pos, key_pos), `logits` (history, trial, token), `margin`
        (history, trial), the circuits' `qk` and `ov`, and what was asked: `tokens` (trial, pos), `contextual`,
        `fixed`, `query` (trial), `rule` (key). The difference is below − above.
    """
    looked = [_looked_at(model, trials) for model in (below, above)]
    logits = np.stack([look[0] for look in looked])
    margins = np.stack([read(torch.from_numpy(history_logits), trials)["margin"] for history_logits in logits])
    shown = {
        "pattern": (
            ("history", "trial", "layer", "head", "query_pos", "key_pos"),
            _with_difference(np.stack([look[1] for look in looked])),
            {"units": "share of attention", "method": "attention pattern"},
        ),
        "logits": (("history", "trial", "token"), _with_difference(logits), {"units": "logits"}),
        "margin": (("history", "trial"), _with_difference(margins), {"units": "logits"}),
        "tokens": (("trial", "pos"), trials.tokens),
        "contextual": ("trial", trials.contextual),
        "fixed": ("trial", trials.fixed),
        "query": ("trial", trials.query),
        "rule": ("key", rule),
    }
    places = {dim: list(trials.position_labels) for dim in ("pos", "query_pos", "key_pos")}
    merged = xr.merge([circuits(below, above, trials), xr.Dataset(shown, _counted(places, below))])
    return merged.assign_attrs(first_value=trials.first_value)


def _counted(coords: dict, model: Hooked) -> dict:
    return coords | {"layer": np.arange(model.cfg.n_layers), "head": np.arange(model.cfg.n_heads)}


def _heads(matrix: Callable[[Hooked, int, int], torch.Tensor], models: tuple[Hooked, Hooked]) -> np.ndarray:
    """(history, layer, head, row, column)."""
    return np.array(
        [
            [[matrix(m, layer, head).cpu().numpy() for head in range(m.cfg.n_heads)] for layer in range(m.cfg.n_layers)]
            for m in models
        ]
    )


def _with_difference(values: np.ndarray) -> np.ndarray:
    """(2, …) → (3, …): below − above comes last."""
    return np.concatenate([values, values[:1] - values[1:]])


def _looked_at(model: Hooked, trials: Trials) -> tuple[np.ndarray, np.ndarray]:
    """Logits at the query (trial, token), and patterns (trial, layer, head, query_pos, key_pos)."""
    names = [hook_pattern(layer) for layer in range(model.cfg.n_layers)]
    logits, activations = capture(model, torch.from_numpy(trials.tokens).to(device_of(model)), names)
    patterns = np.stack([activations[name].cpu().numpy() for name in names], axis=1)
    return logits[:, -1].cpu().numpy(), patterns


def explore_pair(pair: Histories, trials: int = 12) -> xr.Dataset:
    """Both histories of a pair head by head, on the first trials of its own stream; UserError for fewer than one.

    `explorer_page` makes a page with menus of it, `head_maps` one picture.
    """
    if trials < 1:
        raise UserError(f"trials is {trials}; use at least 1.")
    task = pair.data.task
    shown = exploration(pair.data.below, pair.data.above, evaluation_trials(task, trials, pair.seed), task.permutation)
    sides = zip(BRANCHES, (pair.below.manifest, pair.above.manifest), strict=True)
    changed = {side: "" if pair.as_loaded(side) else ", changed since" for side in BRANCHES}
    return shown.assign_attrs(
        {side: f"{describe(manifest)}, weights {manifest.weights[:12]}{changed[side]}" for side, manifest in sides}
    )
