"""Trials as an .npz file that any library reads: tokens, both answers, the queried key, and the position labels."""

from pathlib import Path

import numpy as np

from hyst_interp.errors import UserError
from hyst_interp.storage.atomic import new_file
from hyst_interp.tasks.trials import Trials


def write_trials(trials: Trials, path: Path) -> None:
    """Write the numeric columns, the position labels, and the first value's token id; whole or not at all."""
    if path.suffix != ".npz":
        raise UserError(f"output '{path}' does not end in .npz; name an .npz file.")
    with new_file(path) as part:
        np.savez(
            part,
            allow_pickle=False,
            **trials.arrays(),
            position_labels=np.array(trials.position_labels),
            first_value=np.array(trials.first_value),
            d_vocab=np.array(trials.d_vocab),
        )
