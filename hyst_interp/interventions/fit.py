"""Whether edits fit a network and its trials: sites that exist, references of the right shape, positions, strength.

Tensor libraries stretch what does not fit: an index of −1 is the last head, an axis of length 1 any width, a row past
the end the last one. The run then gives numbers, of another experiment. So each way of running edits asks here first.
Only shapes are looked at, so asking costs nothing beside a forward pass, and a reference's values are its maker's.

A reference has its site's whole shape: `[pos, width]`, or `[trial, pos, width]` per trial. A shorter one is the same
for what it leaves out: `[width]` at every position, a single number in every coordinate. One row (`[1, width]`,
`[trial, 1, width]`) is what something holds at the query, and fits where the edit acts at the query alone.
"""

import math
from collections.abc import Iterable
from typing import Any

from hyst_interp.errors import UserError
from hyst_interp.interventions.edit import Edit
from hyst_interp.model.hooked import Hooked
from hyst_interp.sites import Site, check_layer

Shape = tuple[int | None, ...]
"""Lengths of axes; None where any length will do, for nothing is known yet."""


def check_cells(model: Hooked, cells: Iterable[Iterable[Edit]], n_trials: int, n_pos: int) -> None:
    """UserError, one sentence with the value and the range, unless every edit of every cell fits."""
    for cell in cells:
        for edit in cell:
            check_edit(model, edit, n_trials, n_pos)


def check_edit(model: Hooked, edit: Edit, n_trials: int | None = None, n_pos: int | None = None) -> None:
    """`check_cells` for one edit; what needs the number of trials or positions is left out where that is None."""
    cfg = model.cfg
    _check_site(edit.site, cfg)
    if not math.isfinite(edit.strength):
        raise UserError(f"the strength of the edit of {_name(edit.site)} is {edit.strength}; use a finite number.")
    if edit.site.kind == "pattern" and edit.reference.frame == "stream":
        raise UserError(
            f"the reference of {_name(edit.site)} is in the frame 'stream', and a pattern adds nothing to the residual"
            " stream; use the frame 'site'."
        )
    check_shapes(edit, _width(edit, cfg, n_pos), n_trials, n_pos)


def check_shapes(edit: Edit, width: int | None, n_trials: int | None, n_pos: int | None) -> None:
    """UserError unless reference and positions fit an activation [n_trials, n_pos, width]."""
    positions = edit.positions
    if positions is not None and not _fits(positions.shape, [(n_pos,), (n_trials, n_pos)]):
        raise UserError(
            f"the positions of the edit of {_name(edit.site)} have shape {list(positions.shape)}; give a mask"
            f" {_text((n_pos,))}, or {_text((n_trials, n_pos))} with one a trial."
        )
    reference = edit.reference
    first: Shape = (n_trials,) if reference.per_trial else ()
    legal: list[Shape] = [(*first, n_pos, width)] if reference.per_trial else [(), (width,), (n_pos, width)]
    shape = tuple(reference.values.shape)
    if _fits(shape, legal):
        return
    one_row = (*first, 1, width)
    if _fits(shape, [one_row]) and at_query(edit):
        return
    axes = "trial, position, width" if reference.per_trial else "position, width"
    others = "" if reference.per_trial else f", {_text((width,))} for every position, or a single number"
    raise UserError(
        f"the reference of {_name(edit.site)} has shape {list(shape)}"
        f" ({'per trial' if reference.per_trial else 'not per trial'}); give {_text(legal[-1])} ({axes}){others}, or"
        f" {_text(one_row)} for an edit at the query alone."
    )


def at_query(edit: Edit) -> bool:
    """Whether an edit acts at the query and nowhere else."""
    return edit.positions is not None and not edit.positions[..., :-1].any()


def _check_site(site: Site, cfg: Any) -> None:
    if site.kind == "mlp_out" and cfg.attn_only:
        raise UserError(f"{_name(site)} does not exist: the model has no MLP; edit resid_pre, result, or pattern.")
    check_layer(site, cfg.n_layers)
    if site.head is not None and site.head >= cfg.n_heads:
        raise UserError(f"{_name(site)} does not exist: heads go from 0 to {cfg.n_heads - 1}; choose one of these.")


def _width(edit: Edit, cfg: Any, n_pos: int | None) -> int | None:
    match edit.site.kind:
        case "pattern":
            return n_pos
        case "result" if edit.reference.frame == "site":
            return cfg.d_head
        case _:
            return cfg.d_model


def _fits(shape: tuple[int, ...], legal: list[Shape]) -> bool:
    return any(
        len(shape) == len(legal_shape) and all(b is None or a == b for a, b in zip(shape, legal_shape, strict=True))
        for legal_shape in legal
    )


def _name(site: Site) -> str:
    return f"site '{site.kind}' of layer {site.layer}" + ("" if site.head is None else f", head {site.head}")


def _text(shape: Shape) -> str:
    return f"[{', '.join('any' if size is None else str(size) for size in shape)}]"
