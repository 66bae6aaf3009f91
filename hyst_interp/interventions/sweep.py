"""Run a model under edits: once, or over many cells. The plain sweep, which faster ones are held against.

A *cell* is a list of edits made together; a sweep measures every cell on every trial and keeps the trials apart.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int

from hyst_interp.interventions.edit import Edit
from hyst_interp.interventions.fit import check_cells
from hyst_interp.interventions.hooks import hooks_of
from hyst_interp.interventions.install import capture, installed
from hyst_interp.interventions.observe import READOUT, Observer, Seen
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.readout import chunks
from hyst_interp.sites import hook_resid
from hyst_interp.tasks.trials import Trials

Cell = Sequence[Edit]


def run(
    model: Hooked, tokens: Int[torch.Tensor, "trial pos"], edits: Cell = ()
) -> Float[torch.Tensor, "trial pos d_vocab"]:
    """Logits under `edits`, no gradient; the model is left as it was found.

    Raises UserError for an edit that does not fit model and tokens.
    """
    check_cells(model, [edits], *tokens.shape)
    hooks = [hook for edit in edits for hook in hooks_of(edit, model)]
    with torch.no_grad(), installed(model, hooks):
        return model(tokens.to(device_of(model)))


def sweep(
    model: Hooked, trials: Trials, cells: Sequence[Cell], corrupted: bool = False, observe: Observer = READOUT
) -> dict[str, np.ndarray]:
    """What `observe` sees of every cell and trial, [cell, trial, …]: by default `readout.QUANTITIES`.

    The prompts are the trials' own, or their twins' with `corrupted`; both answers are always the clean trial's.
    Raises UserError for an edit that does not fit model and trials, before anything is run.
    """
    check_cells(model, cells, *trials.tokens.shape)
    source = trials.corrupted if corrupted else trials.tokens
    if source is None:
        raise ValueError("these trials have no twin; make one with task.twin(trials, kind)")
    parts = []
    for part in chunks(len(trials)):
        tokens, some = torch.from_numpy(source[part]), trials.take(part)
        before = _seen(model, tokens, (), observe) if observe.compares else None
        seen = (_seen(model, tokens, [edit.rows(part) for edit in cell], observe) for cell in cells)
        measured = [observe.measure(outcome, before or outcome, some) for outcome in seen]
        parts.append({name: np.stack([outcome[name] for outcome in measured]) for name in measured[0]})
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}


def _seen(model: Hooked, tokens: Int[torch.Tensor, "trial pos"], cell: Cell, observe: Observer) -> Seen:
    """What stands at the query under a cell's edits, by the model's own forward."""
    if not observe.compares:
        return Seen(run(model, tokens, cell)[:, -1])
    n_layers = model.cfg.n_layers
    name = hook_resid(n_layers, n_layers)
    hooks = [hook for edit in cell for hook in hooks_of(edit, model)]
    with installed(model, hooks):
        logits, kept = capture(model, tokens.to(device_of(model)), [name])
    return Seen(logits[:, -1], kept[name][:, -1])
