"""Where heads look: attention from the query, summed over the positions of every role, and whole mean patterns."""

import numpy as np
import torch
import xarray as xr

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.interventions.install import capture
from hyst_interp.model.hooked import device_of
from hyst_interp.readout import chunks
from hyst_interp.sites import hook_pattern


def attention_patterns(pair: PairData) -> xr.Dataset:
    """`attention` (branch, layer, head, role, trial): from the query, roles sum to 1; `pattern`: mean over trials.

    `pattern` has dims (branch, layer, head, query_pos, key_pos).
    """
    cfg = pair.below.cfg
    names = [hook_pattern(layer) for layer in range(cfg.n_layers)]
    by_role, totals = [], []
    for model in (pair.below, pair.above):
        parts, sums = [], []
        for part in chunks(len(pair.trials)):
            trials = pair.trials.take(part)
            tokens = torch.from_numpy(trials.tokens).to(device_of(model))
            _, acts = capture(model, tokens, names)
            pattern = torch.stack([acts[name] for name in names]).cpu().to(torch.float64)
            masks = np.stack([trials.role_positions(role) for role in trials.role_names])
            weights = torch.from_numpy(masks.astype(np.float64))
            parts.append(torch.einsum("lthk,rtk->lhrt", pattern[:, :, :, -1], weights))
            sums.append(pattern.sum(1))
        by_role.append(torch.cat(parts, dim=-1).numpy().astype(np.float32))
        totals.append((torch.stack(sums).sum(0) / len(pair.trials)).numpy().astype(np.float32))
    labels = list(pair.trials.position_labels)
    return xr.Dataset(
        {
            "attention": (("branch", "layer", "head", "role", "trial"), np.stack(by_role), {"units": "share"}),
            "pattern": (("branch", "layer", "head", "query_pos", "key_pos"), np.stack(totals), {"units": "share"}),
        },
        coords={
            "branch": list(BRANCHES),
            "layer": list(range(cfg.n_layers)),
            "head": list(range(cfg.n_heads)),
            "role": list(pair.trials.role_names),
            "query_pos": labels,
            "key_pos": labels,
        },
    )
