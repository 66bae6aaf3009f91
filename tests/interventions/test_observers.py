"""Observers see one run: the final stream gives the logits, on the plain and on the cached sweep, and both join."""

import numpy as np
import torch

from hyst_interp.interventions.cached_sweep import cached_sweep
from hyst_interp.interventions.edit import Edit
from hyst_interp.interventions.edit import Reference as Tensors
from hyst_interp.interventions.observe import FINAL_STREAM, LOGITS, READOUT, both
from hyst_interp.interventions.references import query_only
from hyst_interp.interventions.sweep import sweep
from hyst_interp.readout import read
from hyst_interp.sites import Site


def test_stream_logits_and_readout_are_of_the_same_run_on_either_sweep(small_pair):
    model, trials = small_pair.below, small_pair.trials.take(slice(0, 12))
    zeros = Tensors(torch.zeros(model.cfg.d_model), False, "stream")
    cells = [[], [Edit(Site("mlp_out", 0), zeros, 1.0, query_only(trials.tokens.shape[1]))]]
    seen = {
        kind.__name__: kind(model, trials, cells, observe=both(both(FINAL_STREAM, LOGITS), READOUT))
        for kind in (sweep, cached_sweep)
    }
    for name in ("stream", "logits", "margin"):
        np.testing.assert_allclose(seen["sweep"][name], seen["cached_sweep"][name], rtol=0, atol=1e-5)
    plain = seen["sweep"]
    with torch.no_grad():
        again = model.unembed(model.ln_final(torch.from_numpy(plain["stream"])))
        own = model(torch.from_numpy(trials.tokens))[:, -1]
    np.testing.assert_allclose(plain["logits"], again, rtol=0, atol=1e-5)
    np.testing.assert_allclose(plain["logits"][0], own, rtol=0, atol=1e-5)
    assert np.abs(plain["logits"][1] - plain["logits"][0]).max() > 1e-3
    for cell, logits in enumerate(plain["logits"]):
        expected = read(torch.from_numpy(logits), trials)["margin"]
        np.testing.assert_allclose(plain["margin"][cell], expected, rtol=0, atol=1e-6)
