"""How far a replacement takes a network from where it was: the distance of its logits, and of its final stream.

Two distances at the query, per trial: KL(before ‖ after) of the distributions over the full vocabulary, in nats; and
the Euclidean length of the change of the final residual stream over the stream's own length before. A network that a
replacement takes far away is another network: what it then does says little about what it did before.

A shift of the margin by x where only the two answers count, and equally, costs log cosh(x/2) nats: 0.1 nats are about
0.9 logits. Edits at the query alone are continued from one recorded pass, at one position; others are run plainly.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float

from hyst_interp.interventions.edit import Edit
from hyst_interp.interventions.fit import at_query, check_cells
from hyst_interp.interventions.hooks import contribution, hooks_of
from hyst_interp.interventions.install import capture, installed
from hyst_interp.interventions.network import BaseRun, Network
from hyst_interp.interventions.sweep import Cell
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.model.plain_build import covers_model
from hyst_interp.readout import chunks
from hyst_interp.sites import hook_resid
from hyst_interp.tasks.trials import Trials

DISTANCES = {
    "divergence": ("KL(before ‖ after) at the query, full vocabulary", "nats"),
    "stream_change": ("|change of the final residual stream| / |the stream before| at the query", "share of its norm"),
}
"""What is measured: name → (method, unit)."""

Outcome = tuple[Float[torch.Tensor, "trial d_vocab"], Float[torch.Tensor, "trial d_model"]]
"""Logits and final residual stream at the query."""


def displacements(model: Hooked, trials: Trials, cells: Sequence[Cell]) -> dict[str, Float[np.ndarray, "cell trial"]]:
    """Both of `DISTANCES` for every cell and trial; exactly 0 for a cell that changes nothing.

    Args:
        cells: edits of components' outputs (`result`, `mlp_out`), as `interventions.references.edits_for` makes them.

    Raises:
        UserError: an edit that does not fit model and trials.
    """
    check_cells(model, cells, *trials.tokens.shape)
    found = {name: np.empty((len(cells), len(trials)), np.float32) for name in DISTANCES}
    network = (
        Network(model) if covers_model(model) and all(_at_query(edit) for cell in cells for edit in cell) else None
    )
    for part in chunks(len(trials)):
        tokens = torch.from_numpy(trials.tokens[part])
        outcome = _plain(model, tokens) if network is None else _continued(BaseRun(network, tokens))
        before = outcome(())
        for index, cell in enumerate(cells):
            after = outcome([edit.rows(part) for edit in cell])
            found["divergence"][index, part] = divergence(before[0], after[0]).numpy()
            found["stream_change"][index, part] = _relative(before[1], after[1]).numpy()
    return found


def divergence(
    before: Float[torch.Tensor, "trial d_vocab"], after: Float[torch.Tensor, "trial d_vocab"]
) -> Float[torch.Tensor, " trial"]:
    """KL(before ‖ after) of every trial, in nats, float64 on the CPU."""
    one, two = (torch.log_softmax(value.detach().to("cpu", torch.float64), -1) for value in (before, after))
    return (one.exp() * (one - two)).sum(-1).clamp(min=0)  # rounding alone can make it negative


def _relative(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    one, two = (value.detach().to("cpu", torch.float64) for value in (before, after))
    return (two - one).norm(dim=-1) / one.norm(dim=-1)


def _at_query(edit: Edit) -> bool:
    return edit.site.kind in ("result", "mlp_out") and at_query(edit)


def _plain(model: Hooked, tokens: torch.Tensor) -> Callable[[Cell], Outcome]:
    n_layers = model.cfg.n_layers
    name = hook_resid(n_layers, n_layers)

    def outcome(cell: Cell) -> Outcome:
        hooks = [hook for edit in cell for hook in hooks_of(edit, model)]
        with installed(model, hooks):
            logits, found = capture(model, tokens.to(device_of(model)), [name])
        return logits[:, -1], found[name][:, -1]

    return outcome


def _continued(base: BaseRun) -> Callable[[Cell], Outcome]:
    """The query's column of a forward pass under edits; keys and values of earlier positions are the base run's.

    Up to the first change everything is the recorded run's own, bit for bit: a network that is its own donor has not
    moved.
    """
    network = base.network

    def outcome(cell: Cell) -> Outcome:
        with torch.no_grad():
            resid = base.resid[0][:, -1:]
            for layer in range(network.n_layers):
                resid = _layer(base, layer, resid, cell)
            same = torch.equal(resid, base.resid[-1][:, -1:])
            return base.logits if same else network.logits(resid[:, 0]), resid[:, 0]

    return outcome


def _layer(base: BaseRun, layer: int, resid: torch.Tensor, cell: Cell) -> torch.Tensor:
    """The query's stream after a layer, [trial, 1, d_model]."""
    network, after = base.network, base.resid[layer + 1][:, -1:]
    recorded = base.z[layer][:, -1:]
    same = torch.equal(resid, base.resid[layer][:, -1:])
    z, added = _edit_heads(network, layer, recorded if same else _attend(base, layer, resid), cell)
    same = same and torch.equal(z, recorded) and not added.any()
    if network.cfg.attn_only:
        return after if same else resid + network.write_heads(layer, z) + added
    mid = base.mid[layer][:, -1:] if same else resid + network.write_heads(layer, z) + added
    out = base.mlp_out[layer][:, -1:] if same else network.mlp(layer, mid)
    edited = _edit_mlp(layer, out, cell)
    return after if same and torch.equal(edited, out) else mid + edited


def _attend(base: BaseRun, layer: int, resid: Float[torch.Tensor, "trial 1 d_model"]) -> torch.Tensor:
    """z [trial, 1, head, d_head] at the query, for its stream `resid`."""
    network = base.network
    query, key, value = network.heads(layer, network.norm_attention(layer, resid))
    keys = torch.cat([base.keys[layer][:, :-1], key], 1)
    values = torch.cat([base.values[layer][:, :-1], value], 1)
    pattern = torch.einsum("thd,tkhd->thk", query[:, 0] / network.scale, keys).softmax(-1)
    return torch.einsum("thk,tkhd->thd", pattern, values)[:, None]


def _edit_heads(network: Network, layer: int, z: torch.Tensor, cell: Cell) -> tuple[torch.Tensor, torch.Tensor]:
    """`z` under the cell's edits, and what edits in the frame of the stream add."""
    added = z.new_zeros(len(z), 1, network.cfg.d_model)
    for edit in cell:
        if not edit.strength or edit.site.kind != "result" or edit.site.layer != layer:
            continue
        head = edit.site.head or 0
        if edit.reference.frame == "site":
            z = z.clone()
            z[:, :, head] = torch.lerp(z[:, :, head], _reference(edit, z), edit.strength)
        else:
            own = contribution(z[:, :, head], network.model.blocks[layer].attn.W_O[head].detach())
            added = added + edit.strength * (_reference(edit, own) - own)
    return z, added


def _edit_mlp(layer: int, out: torch.Tensor, cell: Cell) -> torch.Tensor:
    for edit in cell:
        if edit.strength and edit.site.kind == "mlp_out" and edit.site.layer == layer:
            out = torch.lerp(out, _reference(edit, out), edit.strength)
    return out


def _reference(edit: Edit, act: torch.Tensor) -> torch.Tensor:
    """The reference at the query: [1, d] or [trial, 1, d]; an axis of positions is cut to its last."""
    values = edit.reference.values.to(act.device, act.dtype)
    if edit.reference.per_trial:
        return values[:, -1:]
    return (values[-1:] if values.ndim == 2 else values[None]).expand(1, values.shape[-1])
