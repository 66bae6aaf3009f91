"""One network on one chunk of trials: run once, then asked for what components write, and swept.

What two networks give each other on the same trials (donors) comes from the runs that their sweeps start from, so each
network is run once. A network that the cached sweep does not cover is run whole every time.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float

from hyst_interp.interventions.cached_sweep import sweep_from
from hyst_interp.interventions.fit import check_cells
from hyst_interp.interventions.install import capture
from hyst_interp.interventions.network import BaseRun, Network
from hyst_interp.interventions.observe import READOUT, Observer, Seen
from hyst_interp.interventions.references import written_by, written_in
from hyst_interp.interventions.sweep import Cell, sweep
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.model.plain_build import covers_model
from hyst_interp.sites import Component
from hyst_interp.tasks.trials import Trials


class CachedRun:
    """A network and as many trials as one forward pass takes (`readout.CHUNK`)."""

    def __init__(self, model: Hooked, trials: Trials) -> None:
        self.model, self.trials = model, trials
        self.tokens = torch.from_numpy(trials.tokens)
        self.base = BaseRun(Network(model), self.tokens) if covers_model(model) else None

    def written(
        self, components: Iterable[Component], at_query: bool = False
    ) -> dict[Component, Float[torch.Tensor, "trial pos d_model"]]:
        """What each component adds to the residual stream, everywhere or at the query alone."""
        if self.base is None:
            return written_by(self.model, self.tokens, components, at_query)
        return written_in(self.base, components, at_query)

    def seen(self) -> Seen:
        """What stands at the query, undisturbed."""
        if self.base is not None:
            return Seen(self.base.logits, self.base.resid[-1][:, -1])
        return Seen(capture(self.model, self.tokens.to(device_of(self.model)), [])[0][:, -1])

    def sweep(self, cells: Sequence[Cell], observe: Observer = READOUT) -> dict[str, np.ndarray]:
        """What `interventions.sweep` returns for these cells on the trials' own prompts."""
        check_cells(self.model, cells, *self.trials.tokens.shape)
        if self.base is None:
            return sweep(self.model, self.trials, cells, observe=observe)
        return sweep_from(self.base, self.trials, cells, observe=observe)
