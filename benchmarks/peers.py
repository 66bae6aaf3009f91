"""What a good user of TransformerLens would write: the peers that we are measured against."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr

import torch
from torch.nn import functional
from transformer_lens import patching

from hyst_interp.history.schedule import Schedule
from hyst_interp.history.state import TrainingState
from hyst_interp.model.build import HookedTransformer
from hyst_interp.streams import Stream
from hyst_interp.tasks.trials import Trials


def train(state: TrainingState, steps: Schedule) -> HookedTransformer:
    """A straightforward training loop: the whole forward, the loss at the query, a fresh AdamW."""
    setup, config = state.setup, state.setup.training.optimizer
    task, stream = state.task, Stream(steps.role, setup.seed, state.order)
    model = state.model().train()
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=config.lr,
        betas=config.betas,
        eps=config.eps,
        weight_decay=config.weight_decay,
        fused=True,
    )
    for p, index in zip(steps.p, steps.batch, strict=True):
        batch = task.batch(stream, int(index), setup.training.batch_size)
        loss = functional.cross_entropy(
            model(torch.from_numpy(batch.tokens))[:, -1], torch.from_numpy(batch.targets(float(p)))
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def mean_margin(trials: Trials):
    """A metric for `transformer_lens.patching`: the mean margin of logits [trial, pos, d_vocab]."""
    rows = torch.arange(len(trials))
    contextual, fixed = torch.from_numpy(trials.contextual), torch.from_numpy(trials.fixed)
    return lambda logits: (logits[rows, -1, contextual] - logits[rows, -1, fixed]).mean()


def residual_map(model: HookedTransformer, trials: Trials) -> torch.Tensor:
    """Denoising, layer × position: the mean margin of every patched run."""
    return _patched(patching.get_act_patch_resid_pre, model, trials)


def head_map(model: HookedTransformer, trials: Trials) -> torch.Tensor:
    """Denoising, layer × position × head: the mean margin of every patched run."""
    return _patched(patching.get_act_patch_attn_head_out_by_pos, model, trials)


def _patched(patch: Callable[..., torch.Tensor], model: HookedTransformer, trials: Trials) -> torch.Tensor:
    with torch.no_grad(), redirect_stderr(io.StringIO()):  # its progress bars
        _, cache = model.run_with_cache(torch.from_numpy(trials.tokens))
        return patch(model, torch.from_numpy(trials.corrupted), cache, mean_margin(trials))
