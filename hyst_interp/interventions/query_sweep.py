"""The sweep for edits at the query: everything that they cannot change is computed once.

The query is the last position, so no other position attends to it: an edit of what heads or MLPs write *at the query*
changes the query's residual stream and nothing else. Keys and values of all earlier positions come from one pass; every
cell then costs one position. It consumes the same cells as the plain sweep, which is its oracle (equal within 1e-5 a
trial), and hands over to it whatever it does not cover: other sites or positions, models of another build, and models
that carry hooks of the user's own, which only a whole forward pass would reach.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch.nn import functional

from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.hooks import contribution
from hyst_interp.interventions.install import capture
from hyst_interp.interventions.references import written_by
from hyst_interp.interventions.sweep import Cell, sweep
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.model.query_forward import ACTIVATIONS
from hyst_interp.readout import QUANTITIES, chunks, read
from hyst_interp.sites import Component
from hyst_interp.tasks.trials import Trials

Written = dict[Component, torch.Tensor]


def written_at_query(
    model: Hooked, trials: Trials, components: Iterable[Component]
) -> dict[Component, Float[torch.Tensor, "trial 1 d_model"]]:
    """What each component adds to the residual stream at the query, by the operations that `query_sweep` uses.

    So a network that is its own donor is changed by exactly nothing.
    """
    tokens, wanted = torch.from_numpy(trials.tokens).to(device_of(model)), sorted(set(components))
    if not covers_model(model):
        return {c: value[:, -1:] for c, value in written_by(model, tokens, wanted).items()}
    found: Written = {}
    _Prefix(model, tokens).logits([], found)
    return {c: found[c] for c in wanted}


def query_sweep(model: Hooked, trials: Trials, cells: Sequence[Cell]) -> dict[str, Float[np.ndarray, "cell trial"]]:
    """What `sweep` returns for these cells on the trials' own prompts, one position a cell where that is possible."""
    n_pos = trials.tokens.shape[1]
    if not covers_model(model) or not all(_at_query(edit, n_pos) for cell in cells for edit in cell):
        return sweep(model, trials, cells)
    found = {name: np.empty((len(cells), len(trials)), dtype=np.float32) for name in QUANTITIES}
    for part in chunks(len(trials)):
        some = trials.take(part)
        prefix = _Prefix(model, torch.from_numpy(some.tokens).to(device_of(model)))
        for index, cell in enumerate(cells):
            values = read(prefix.logits([edit.rows(part) for edit in cell]), some)
            for name, value in values.items():
                found[name][index, part] = value
    return found


def covers_model(model: Hooked) -> bool:
    """Whether the model is of the plain build that this sweep computes, and carries no hooks of its own."""
    cfg = model.cfg
    plain = (
        cfg.normalization_type == "LN"
        and cfg.positional_embedding_type == "standard"
        and cfg.attention_dir == "causal"
        and (cfg.attn_only or cfg.act_fn in ACTIVATIONS)
        and cfg.n_key_value_heads is None
        and not (cfg.parallel_attn_mlp or cfg.gated_mlp or cfg.use_local_attn or cfg.use_normalization_before_and_after)
        and cfg.attn_scores_soft_cap <= 0
        and cfg.output_logits_soft_cap <= 0
    )
    return bool(plain) and not any(point.fwd_hooks or point._forward_hooks for point in model.hook_dict.values())


def _at_query(edit: Edit, n_pos: int) -> bool:
    """Whether an edit replaces what a head or an MLP writes at the query, and there alone."""
    where = edit.positions
    alone = where is not None and where.ndim == 1 and bool(where[-1]) and int(where.sum()) == 1 and len(where) == n_pos
    return alone and edit.site.kind in ("result", "mlp_out")


class _Prefix:
    """Keys and values of all positions of a chunk of prompts, and the query's first residual stream."""

    def __init__(self, model: Hooked, tokens: torch.Tensor) -> None:
        self.model, self.cfg = model, model.cfg
        layers = range(model.cfg.n_layers)
        names = ["blocks.0.hook_resid_pre"]
        names += [f"blocks.{layer}.attn.hook_{kind}" for layer in layers for kind in "kv"]
        _, acts = capture(model, tokens, names)
        self.start = acts[names[0]][:, -1]
        self.keys = [acts[f"blocks.{layer}.attn.hook_k"] for layer in layers]
        self.values = [acts[f"blocks.{layer}.attn.hook_v"] for layer in layers]

    def logits(self, edits: Sequence[Edit], written: Written | None = None) -> Float[torch.Tensor, "trial d_vocab"]:
        """Logits at the query under the edits of one cell; `written` is filled with what components write there."""
        with torch.no_grad():
            resid = self.start
            for layer in range(self.cfg.n_layers):
                block = self.model.blocks[layer]
                here = [edit for edit in edits if edit.site.layer == layer and edit.strength]
                heads = [edit for edit in here if edit.site.kind == "result"]
                resid = resid + self._attention(layer, resid, heads, written)
                if not self.cfg.attn_only:
                    hidden = self._norm(block.ln2, resid) @ block.mlp.W_in + block.mlp.b_in
                    out = ACTIVATIONS[self.cfg.act_fn](hidden) @ block.mlp.W_out + block.mlp.b_out
                    for edit in here:
                        if edit.site.kind == "mlp_out":
                            out = torch.lerp(out, at_query(edit.reference, out), edit.strength)
                    if written is not None:
                        written[Component(layer)] = out[:, None]
                    resid = resid + out
            final = self._norm(self.model.ln_final, resid)  # type: ignore[attr-defined]
            return final @ self.model.unembed.W_U + self.model.unembed.b_U  # type: ignore[attr-defined]

    def _attention(
        self, layer: int, resid: torch.Tensor, edits: Sequence[Edit], written: Written | None
    ) -> torch.Tensor:
        """What one layer's attention adds to the query's residual stream."""
        block = self.model.blocks[layer]
        attn, normed = block.attn, self._norm(block.ln1, resid)
        query, own_key, own_value = (
            torch.einsum("bm,hmd->bhd", normed, weight) + bias
            for weight, bias in ((attn.W_Q, attn.b_Q), (attn.W_K, attn.b_K), (attn.W_V, attn.b_V))
        )
        keys = torch.cat([self.keys[layer][:, :-1], own_key[:, None]], dim=1)
        values = torch.cat([self.values[layer][:, :-1], own_value[:, None]], dim=1)
        scale = self.cfg.attn_scale if self.cfg.use_attn_scale else 1.0
        pattern = torch.softmax(torch.einsum("bhd,bphd->bhp", query, keys) / scale, dim=-1)
        z = torch.einsum("bhp,bphd->bhd", pattern, values)
        added = torch.zeros_like(resid)
        for edit in edits:
            head = edit.site.head or 0
            if edit.reference.frame == "site":
                z = z.clone()
                z[:, head] = torch.lerp(z[:, head], at_query(edit.reference, z[:, head]), edit.strength)
            else:
                own = contribution(z[:, head], attn.W_O[head])
                added = added + edit.strength * (at_query(edit.reference, own) - own)
        if written is not None:
            for head in range(self.cfg.n_heads):
                written[Component(layer, head)] = contribution(z[:, head], attn.W_O[head])[:, None]
        return torch.einsum("bhd,hdm->bm", z, attn.W_O) + attn.b_O + added

    def _norm(self, norm: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, x.shape[-1:], norm.w, norm.b, self.cfg.eps)  # type: ignore[arg-type]


def at_query(reference: Reference, act: torch.Tensor) -> torch.Tensor:
    """The reference at the query, as [trial, …] like `act`."""
    values = reference.values.to(act.device, act.dtype)
    if reference.per_trial:
        return values[:, -1] if values.ndim == act.ndim + 1 else values
    return (values[-1] if values.ndim == act.ndim else values).expand_as(act)
