"""(b) Patching sweeps against `transformer_lens.patching` on the same trials."""

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.pairs import Measure, compare, either_way
from benchmarks.peers import head_map, residual_map
from hyst_interp.interventions.patching import patching_map
from hyst_interp.model.build import HookedTransformer
from hyst_interp.tasks.trials import Trials


def measures(model: HookedTransformer, trials: Trials, pairs: int) -> Iterator[Measure]:
    """Residual stream, layer × position, and heads, layer × head × position."""

    def ours(site: str):
        def run() -> np.ndarray:
            torch.set_num_threads(1)
            found = patching_map(model, trials, site, "denoise", "position")
            patched = (found["effect"] + found["base"]).astype("float64").mean("trial").values
            return patched[: model.cfg.n_layers] if site == "resid_pre" else patched.transpose(0, 2, 1)

        return run

    def apart(mine: np.ndarray, theirs: torch.Tensor) -> float:
        return float(np.abs(mine - theirs.numpy()).max())

    kinds = {
        "residual": ("resid_pre", residual_map, "residual stream, layer × position", 5.0),
        "heads": ("result", head_map, "heads, layer × head × position", 8.0),
    }
    for key, (site, peer, what, goal) in kinds.items():
        yield compare(
            f"sweep-{key}",
            f"{what}, {len(trials)} trials",
            "transformer_lens.patching",
            ours(site),
            either_way(lambda peer=peer: peer(model, trials)),
            apart,
            1e-4,
            goal=goal,
            pairs=pairs,
        )
