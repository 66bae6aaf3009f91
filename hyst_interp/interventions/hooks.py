"""Edits as hook functions `(activation, hook) -> activation`, in TransformerLens's dialect.

Every hook returns a new tensor, or the activation itself where nothing is to change. An edit in the site's own frame
lerps at its hook. An edit of a head in the frame of the residual stream (a donor or a pooled mean, which carry another
W_O) reads `hook_z`, and adds `strength · (reference − hook_z·W_O)` at `hook_attn_out`; b_O stays where it is.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float

from hyst_interp.interventions.edit import Edit
from hyst_interp.interventions.fit import check_edit, check_shapes
from hyst_interp.model.hooked import Hooked, output_matrix
from hyst_interp.sites import hook_attn_out, hook_mlp_out, hook_pattern, hook_resid, hook_z

Hook = Callable[..., torch.Tensor]
NamedHook = tuple[str, Hook]


def contribution(
    z: Float[torch.Tensor, "*batch d_head"], w_o: Float[torch.Tensor, "d_head d_model"]
) -> Float[torch.Tensor, "*batch d_model"]:
    """What one head writes to the residual stream: hook_z · W_O (b_O belongs to no head)."""
    return z.contiguous() @ w_o.contiguous()


def hooks_of(edit: Edit, model: Hooked) -> list[NamedHook]:
    """The hooks that carry out one edit on `model`; empty for strength 0.

    Raises UserError for an edit that does not fit the model, and when a hook meets activations that it does not fit.
    """
    check_edit(model, edit)
    if edit.strength == 0:
        return []
    site, n_layers = edit.site, model.cfg.n_layers
    match site.kind:
        case "resid_pre":
            return [(hook_resid(site.layer, n_layers), _whole(edit))]
        case "mlp_out":
            return [(hook_mlp_out(site.layer), _whole(edit))]
        case "pattern":
            return [(hook_pattern(site.layer), _one_head(edit, axis=1))]
        case "result" if edit.reference.frame == "site":
            return [(hook_z(site.layer), _one_head(edit, axis=2))]
        case _:
            return _head_in_stream(edit, model)


def mixed(act: torch.Tensor, edit: Edit) -> torch.Tensor:
    """The one formula: lerp towards the reference where the edit's positions say so; `act` is [batch, pos, width]."""
    check_shapes(edit, act.shape[-1], *act.shape[:2])
    reference = edit.reference.values.to(act.device, act.dtype)
    changed = torch.lerp(act, reference.expand_as(act), edit.strength)
    if edit.positions is None:
        return changed
    return torch.where(_mask(edit, act), changed, act)


def _mask(edit: Edit, act: torch.Tensor) -> torch.Tensor:
    mask = torch.from_numpy(edit.positions).to(act.device)
    mask = mask if mask.ndim == 2 else mask[None]
    return mask.reshape(*mask.shape, *(1,) * (act.ndim - 2))


def _whole(edit: Edit) -> Hook:
    def replace(act: torch.Tensor, hook: object) -> torch.Tensor:
        return mixed(act, edit)

    return replace


def _one_head(edit: Edit, axis: int) -> Hook:
    def replace(act: torch.Tensor, hook: object) -> torch.Tensor:
        new = act.clone()
        new.select(axis, edit.site.head or 0).copy_(mixed(act.select(axis, edit.site.head or 0), edit))
        return new

    return replace


def _head_in_stream(edit: Edit, model: Hooked) -> list[NamedHook]:
    """Read what the head writes, add the difference to what attention adds."""
    layer, head = edit.site.layer, edit.site.head or 0
    w_o = output_matrix(model, layer)[head]
    written: list[torch.Tensor] = []

    def read(act: torch.Tensor, hook: object) -> torch.Tensor:
        written[:] = [contribution(act[:, :, head], w_o)]
        return act

    def write(act: torch.Tensor, hook: object) -> torch.Tensor:
        own = written.pop()
        check_shapes(edit, own.shape[-1], *own.shape[:2])
        reference = edit.reference.values.to(act.device, act.dtype).expand_as(own)
        difference = edit.strength * (reference - own)
        if edit.positions is not None:
            difference = torch.where(_mask(edit, act), difference, torch.zeros_like(difference))
        return act + difference

    return [(hook_z(layer), read), (hook_attn_out(layer), write)]
