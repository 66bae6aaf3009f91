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
from hyst_interp.interventions.install import installed
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.readout import QUANTITIES, chunks, read
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
    model: Hooked, trials: Trials, cells: Sequence[Cell], corrupted: bool = False
) -> dict[str, Float[np.ndarray, "cell trial"]]:
    """Every quantity of `readout.QUANTITIES` for every cell and trial.

    The prompts are the trials' own, or their twins' with `corrupted`; both answers are always the clean trial's.
    Raises UserError for an edit that does not fit model and trials, before anything is run.
    """
    check_cells(model, cells, *trials.tokens.shape)
    source = trials.corrupted if corrupted else trials.tokens
    if source is None:
        raise ValueError("these trials have no twin; make one with task.twin(trials, kind)")
    found = {name: np.empty((len(cells), len(trials)), dtype=np.float32) for name in QUANTITIES}
    for part in chunks(len(trials)):
        tokens, some = torch.from_numpy(source[part]), trials.take(part)
        for index, cell in enumerate(cells):
            values = read(run(model, tokens, [edit.rows(part) for edit in cell])[:, -1], some)
            for name, value in values.items():
                found[name][index, part] = value
    return found
