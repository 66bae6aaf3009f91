"""A forward pass that is taken up in the middle: some cells together, from their first change to the logits.

What stands before the change comes from a base run; keys and values of earlier positions are the base run's as well,
the same for all cells. In the last layer only the query is computed. A pass from the embeddings on (`query_pass`) is
the same thing with nothing before it.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.hooks import contribution
from hyst_interp.interventions.network import BaseRun, Network, causal
from hyst_interp.interventions.observe import Seen
from hyst_interp.interventions.sweep import Cell
from hyst_interp.sites import Component

Recorded = dict[Component, torch.Tensor]
"""`hook_z` of heads [trial, d_head] and `hook_mlp_out` of MLPs [trial, d_model], at the query."""


@dataclass(frozen=True)
class Group:
    """Cells that start at the same place on the same trials."""

    layer: int
    step: str
    """The first of `STEPS` at which something changes."""
    start: int
    """First position that changes."""
    trials: np.ndarray
    """Indices within the chunk."""
    cells: list[int]


class Embedded(BaseRun):
    """A base run of which nothing has been run: the first residual stream alone."""

    def __init__(self, network: Network, tokens: Int[torch.Tensor, "trial pos"]) -> None:
        self.network, self.resid = network, [network.embed(tokens)]


def query_pass(
    network: Network, tokens: Int[torch.Tensor, "trial pos"], recorded: Recorded | None = None
) -> Float[torch.Tensor, "trial d_vocab"]:
    """Logits at the query, every layer but the last at all positions; `recorded` is filled with what components hold.

    In chunks by itself it is not: give as many prompts as memory holds.
    """
    base = Embedded(network, tokens)
    group = Group(0, "resid_pre", 0, np.arange(len(tokens)), [0])
    return ResumedForward(base, group, [[]]).seen(recorded).logits[0]


class ResumedForward:
    """Some cells of one group, from their first change to the logits; activations are [cell, trial, pos, …]."""

    def __init__(self, base: BaseRun, group: Group, cells: list[Cell]) -> None:
        self.base, self.network, self.group = base, base.network, group
        self.n_pos = base.resid[0].shape[1]
        n_trials = base.resid[0].shape[0]
        self.all = len(group.trials) == n_trials
        self.index = torch.from_numpy(group.trials).to(base.resid[0].device)
        self.cells = cells if self.all else [[of_trials(edit, group.trials) for edit in cell] for cell in cells]

    def seen(self, recorded: Recorded | None = None) -> Seen:
        """What stands at the query; `recorded` is filled with what the first cell's components hold there."""
        with torch.no_grad():
            group, last = self.group, self.network.n_layers - 1
            start = group.start
            whole = group.step == "resid_pre"
            resid = self._cached(self.base.resid[group.layer], start) if whole else torch.empty(0)
            for layer in range(group.layer, last + 1):
                begins = layer == group.layer
                at = self.n_pos - 1 if layer == last else start
                if begins and group.step == "mlp_out":
                    mid, out = self._cached(self.base.mid[layer], at), self._cached(self.base.mlp_out[layer], at)
                else:
                    if begins and group.step == "result":
                        before, z = self._cached(self.base.resid[layer], at), self._cached(self.base.z[layer], at)
                    else:
                        resid = self._edited(resid, layer, "resid_pre", start)
                        folded = layer == last and start < self.n_pos - 1  # one row alone: cached keys are cheaper
                        z = self._attend_last(layer, resid) if folded else self._attend(layer, resid)
                        before = resid[:, :, -1:] if layer == last else resid
                    z, added = self._edit_heads(layer, z, at)
                    mid = before + self.network.write_heads(layer, z)
                    mid = mid if added is None else mid + added
                    out = None if self.network.cfg.attn_only else self.network.mlp(layer, mid)
                    if recorded is not None:
                        heads = range(self.network.n_heads)
                        recorded |= {Component(layer, head): z[0, :, -1, head] for head in heads}
                        recorded |= {} if out is None else {Component(layer): out[0, :, -1]}
                resid = mid if out is None else mid + self._edited(out, layer, "mlp_out", at)
            final = self._edited(resid[:, :, -1:], last + 1, "resid_pre", self.n_pos - 1)
            return Seen(self.network.logits(final[:, :, 0]), final[:, :, 0])

    def _cached(self, act: torch.Tensor, start: int) -> torch.Tensor:
        """Own copies of a cached activation from `start` on, one a cell."""
        part = self._taken(act, start)
        return part[None].expand(len(self.cells), *part.shape).clone(memory_format=torch.contiguous_format)

    def _taken(self, act: torch.Tensor, start: int = 0, end: int | None = None) -> torch.Tensor:
        part = act[:, start:end]
        return part if self.all else part[self.index]

    def _edited(self, act: torch.Tensor, layer: int, kind: str, start: int) -> torch.Tensor:
        """`act` under the cells' edits of a whole stream; its first position is `start`."""
        for index, cell in enumerate(self.cells):
            for edit in cell:
                if edit.strength and edit.site.layer == layer and edit.site.kind == kind:
                    act[index] = self._mixed(act[index], edit, start)
        return act

    def _edit_heads(self, layer: int, z: torch.Tensor, start: int) -> tuple[torch.Tensor, torch.Tensor | None]:
        """`z` under the cells' edits of heads, and what edits in the frame of the stream add to it."""
        added = None
        for index, cell in enumerate(self.cells):
            for edit in cell:
                if not edit.strength or edit.site.layer != layer or edit.site.kind != "result":
                    continue
                head = edit.site.head or 0
                if edit.reference.frame == "site":
                    z[index, :, :, head] = self._mixed(z[index, :, :, head], edit, start)
                    continue
                if added is None:
                    added = z.new_zeros(*z.shape[:3], self.network.cfg.d_model)
                everywhere = self._everywhere(edit, start)
                if edit.strength == 1 and everywhere:
                    added[index] += values_for(edit, added[index], self.n_pos)
                    z[index, :, :, head] = 0.0
                    continue
                w_o = self.network.model.blocks[layer].attn.W_O[head].detach()
                own = contribution(z[index, :, :, head], w_o)
                difference = edit.strength * (values_for(edit, own, self.n_pos) - own)
                if not everywhere:
                    difference = torch.where(self._mask(edit, difference, start), difference, 0.0)
                added[index] += difference
        return z, added

    def _mixed(self, act: torch.Tensor, edit: Edit, start: int) -> torch.Tensor:
        reference = values_for(edit, act, self.n_pos).expand_as(act)
        changed = reference if edit.strength == 1 else torch.lerp(act, reference, edit.strength)
        return changed if self._everywhere(edit, start) else torch.where(self._mask(edit, act, start), changed, act)

    def _everywhere(self, edit: Edit, start: int) -> bool:
        """Whether an edit acts at every position from `start` on."""
        return edit.positions is None or bool(edit.positions[..., start:].all())

    def _mask(self, edit: Edit, act: torch.Tensor, start: int) -> torch.Tensor:
        """Where an edit acts, as it meets `act` [trial, pos from `start` on, …]."""
        assert edit.positions is not None
        mask = edit.positions if edit.positions.ndim == 2 else edit.positions[None]
        there = torch.from_numpy(np.ascontiguousarray(mask[:, start:])).to(act.device)
        return there.reshape(*there.shape, *(1,) * (act.ndim - 2))

    def _attend(self, layer: int, resid: torch.Tensor) -> torch.Tensor:
        """z [cell, trial, pos, head, d_head] at every position from the group's start on.

        Keys and values of earlier positions are the base run's, the same for all cells.
        """
        network, start = self.network, self.group.start
        n_cells, n_trials, n_here = resid.shape[:3]
        queries, keys, values = network.heads(layer, network.norm_attention(layer, resid))
        queries = queries.permute(1, 3, 0, 2, 4) / network.scale  # [trial, head, cell, pos, d_head]
        own_keys, own_values = keys.permute(1, 3, 0, 4, 2), values.permute(1, 3, 0, 2, 4)
        scores = queries @ own_keys
        if start:
            earlier = self._taken(self.base.keys[layer], 0, start).permute(0, 2, 3, 1)
            shared = (queries.flatten(2, 3) @ earlier).view(*queries.shape[:4], start)
            scores = torch.cat([shared, scores], dim=-1)
        scores = scores.masked_fill(~causal(self.n_pos, start, resid.device), -torch.inf)
        pattern = torch.softmax(scores, -1)
        self._edit_patterns(layer, pattern.permute(2, 0, 1, 3, 4), start)
        z = pattern[..., start:] @ own_values
        if start:
            earlier = self._taken(self.base.values[layer], 0, start).transpose(1, 2)
            z = z + (pattern[..., :start].flatten(2, 3) @ earlier).view(z.shape)
        return z.permute(2, 0, 3, 1, 4).reshape(n_cells, n_trials, n_here, network.n_heads, network.d_head)

    def _attend_last(self, layer: int, resid: torch.Tensor) -> torch.Tensor:
        """z [cell, trial, 1, head, d_head] at the query of the last layer.

        W_K and W_V act on the query's side, so keys and values are never formed: q·(W_K x) = (W_Kᵀq)·x, and b_K, which
        shifts all scores alike, drops out.
        """
        network, start = self.network, self.group.start
        attn = network.model.blocks[layer].attn
        normed = network.norm_attention(layer, resid)
        queries = torch.einsum("ctm,hmd->cthd", normed[:, :, -1], attn.W_Q.detach()) + attn.b_Q.detach()
        asked = torch.einsum("cthd,hmd->cthm", queries, attn.W_K.detach()) / network.scale
        scores = asked @ normed.transpose(2, 3)
        asked = asked.transpose(0, 1)
        if start:
            earlier = self._taken(self.base.normed[layer], 0, start)
            shared = (asked.flatten(1, 2) @ earlier.transpose(1, 2)).view(*asked.shape[:3], start).transpose(0, 1)
            scores = torch.cat([shared, scores], dim=-1)
        pattern = torch.softmax(scores, -1)  # [cell, trial, head, key_pos]
        self._edit_patterns(layer, pattern[:, :, :, None], self.n_pos - 1)
        mixed = pattern[..., start:] @ normed
        if start:
            shared = pattern[..., :start].transpose(0, 1)
            mixed = mixed + (shared.flatten(1, 2) @ earlier).view(*shared.shape[:3], -1).transpose(0, 1)
        z = torch.einsum("cthm,hmd->cthd", mixed, attn.W_V.detach())
        z = z + pattern.sum(-1, keepdim=True) * attn.b_V.detach()
        return z[:, :, None]

    def _edit_patterns(self, layer: int, pattern: torch.Tensor, start: int) -> None:
        """Replace patterns [cell, trial, head, query_pos, key_pos] in place where a cell says so."""
        for index, cell in enumerate(self.cells):
            for edit in cell:
                if edit.strength and edit.site.layer == layer and edit.site.kind == "pattern":
                    own = pattern[index, :, edit.site.head or 0]
                    own.copy_(self._mixed(own, edit, start))


def of_trials(edit: Edit, trials: np.ndarray) -> Edit:
    """The edit for some of a chunk's trials."""
    positions = edit.positions
    if positions is not None and positions.ndim == 2:
        positions = positions[trials]
    reference = edit.reference
    if reference.per_trial:
        reference = Reference(reference.values[torch.from_numpy(trials)], True, reference.frame)
    return Edit(edit.site, reference, edit.strength, positions)


def values_for(edit: Edit, act: torch.Tensor, n_pos: int) -> torch.Tensor:
    """The reference as it meets `act` [trial, last positions, …]: an axis of positions is cut to the same ones."""
    values = edit.reference.values.to(act.device, act.dtype)
    if edit.reference.per_trial or values.ndim == act.ndim - 1:
        axis = 1 if edit.reference.per_trial else 0
        if values.shape[axis] == n_pos:
            values = values.narrow(axis, n_pos - act.shape[1], act.shape[1])
    return values
