"""What components are replaced by: means over the input distribution, and what another network writes.

Means are taken position by position over trials of the *input distribution* that are disjoint from the trials measured,
summed in float64, so the size of the chunks does not matter. What another network writes is expressed in the residual
stream (hook_z · W_O for a head), since its W_O goes with it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float

from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.interventions.hooks import contribution
from hyst_interp.interventions.install import capture
from hyst_interp.interventions.network import BaseRun, Network
from hyst_interp.interventions.resumed_forward import Recorded, query_pass
from hyst_interp.model.hooked import Hooked, device_of, output_matrix
from hyst_interp.model.plain_build import covers_model
from hyst_interp.readout import chunks
from hyst_interp.references import HISTORIES, OWN_MEAN
from hyst_interp.references import Reference as ReferenceKind
from hyst_interp.sites import Component, Site, hook_mlp_out, hook_z
from hyst_interp.tasks.trials import Trials


@dataclass(frozen=True)
class Means:
    """A network's mean component outputs, position by position (one row where they were taken at the query alone)."""

    z: dict[Component, Float[torch.Tensor, "pos d_head"]]
    """Mean `hook_z` of every head."""
    written: dict[Component, Float[torch.Tensor, "pos d_model"]]
    """Mean of what every head and MLP adds to the residual stream."""


def site_of(component: Component) -> Site:
    """Where a component's output is replaced."""
    return Site("result", component.layer, component.head) if component.is_head else Site("mlp_out", component.layer)


def hook_of(component: Component) -> str:
    """Hook at which a component's output is read."""
    return hook_z(component.layer) if component.is_head else hook_mlp_out(component.layer)


def means(model: Hooked, inputs: Trials, components: Iterable[Component], at_query: bool = False) -> Means:
    """Mean outputs of `components` over `inputs`, position by position, or (much faster) `at_query` alone: one row."""
    wanted = sorted(set(components))
    totals: dict[Component, torch.Tensor] = {}
    for part in chunks(len(inputs)):
        for c, act in _outputs(model, torch.from_numpy(inputs.tokens[part]), wanted, at_query).items():
            total = act.sum(0, dtype=torch.float64)
            totals[c] = totals[c] + total if c in totals else total
    kept = torch.promote_types(model.cfg.dtype, torch.float32)
    averages = {c: (total / len(inputs)).to(kept) for c, total in totals.items()}
    z = {c: value for c, value in averages.items() if c.is_head}
    written = {c: value for c, value in averages.items() if not c.is_head}
    for c, value in z.items():
        written[c] = contribution(value[None], output_matrix(model, c.layer)[c.head].to(kept))[0]
    return Means(z, written)


def _outputs(
    model: Hooked, tokens: torch.Tensor, wanted: list[Component], at_query: bool
) -> dict[Component, Float[torch.Tensor, "trial pos width"]]:
    """`hook_z` of heads and `hook_mlp_out` of MLPs."""
    if at_query and covers_model(model):
        recorded: Recorded = {}
        query_pass(Network(model), tokens, recorded)
        return {c: recorded[c][:, None] for c in wanted}
    _, acts = capture(model, tokens.to(device_of(model)), sorted({hook_of(c) for c in wanted}))
    part = slice(-1, None) if at_query else slice(None)
    return {c: acts[hook_of(c)][:, part, c.head] if c.is_head else acts[hook_of(c)][:, part] for c in wanted}


def built(
    kind: ReferenceKind,
    component: Component,
    branch: str,
    averages: Mapping[str, Means],
    written: Mapping[str, Mapping[Component, torch.Tensor]],
) -> Reference:
    """What a reference puts into the network of `branch`; arguments as in `references.Reference.build`."""
    return Reference(*kind.build(component, branch, averages, written))


def own_mean(component: Component, own: Means) -> Reference:
    """The checkpoint's own mean, in the component's own frame (`hook_z`, or `hook_mlp_out`)."""
    return built(OWN_MEAN, component, HISTORIES[0], {HISTORIES[0]: own}, {})


def stream_mean(component: Component, *sources: Means) -> Reference:
    """The average, over networks, of the mean that the component adds to the residual stream."""
    values = torch.stack([source.written[component] for source in sources]).mean(0)
    return Reference(values, per_trial=False, frame="stream")


def written_by(
    model: Hooked, tokens: torch.Tensor, components: Iterable[Component], at_query: bool = False
) -> dict[Component, Float[torch.Tensor, "trial pos d_model"]]:
    """What each component of `model` adds to the residual stream on these tokens, everywhere or `at_query` alone.

    By the operations with which a sweep reads what stands there, so a network that is its own donor changes nothing.
    """
    wanted = sorted(set(components))
    _, acts = capture(model, tokens.to(device_of(model)), sorted({hook_of(c) for c in wanted}))
    return _written(model, {name: act[:, -1:] if at_query else act for name, act in acts.items()}, wanted)


def written_in(
    base: BaseRun, components: Iterable[Component], at_query: bool = False
) -> dict[Component, Float[torch.Tensor, "trial pos d_model"]]:
    """`written_by` of a base run that is at hand."""
    part = slice(-1, None) if at_query else slice(None)
    wanted = sorted(set(components))
    acts = {hook_of(c): (base.z if c.is_head else base.mlp_out)[c.layer][:, part] for c in wanted}
    return _written(base.network.model, acts, wanted)


def _written(model: Hooked, acts: dict[str, torch.Tensor], wanted: list[Component]) -> dict[Component, torch.Tensor]:
    return {
        c: contribution(acts[hook_of(c)][:, :, c.head], output_matrix(model, c.layer)[c.head])
        if c.is_head
        else acts[hook_of(c)]
        for c in wanted
    }


def query_only(n_pos: int) -> Bool[np.ndarray, " pos"]:
    """A mask of the query position alone."""
    return np.arange(n_pos) == n_pos - 1


def edits_for(
    members: Iterable[Component],
    references: dict[Component, Reference],
    positions: Bool[np.ndarray, " pos"] | None,
    strength: float = 1.0,
) -> list[Edit]:
    """One edit a component, made together."""
    return [Edit(site_of(c), references[c], strength, positions) for c in sorted(members)]
