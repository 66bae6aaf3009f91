"""Exact edge patching: one input of one node reads another run's message, and everything after it is computed again.

A patched edge reads what its source wrote in the *donor's* run in place of what the source writes in this run; every
other edge reads this run. Sets of edges follow the same rule, so patching none is the base run bit for bit, and
patching all gives every input the donor's stream. Two donors are used:

- *twin*: the run on the trial's corrupted prompt ("noise", into the clean run), or the clean run into the corrupted
  one ("denoise"). All edges together give the donor's logits, bit for bit.
- *the other history* on the same trial, both directions. Messages are in the residual stream, so the source's own W_O,
  W_out, or W_E goes with them; b_O belongs to no edge and stays the recipient's. All edges together therefore give the
  recipient's final LayerNorm and unembedding of the other history's final stream with the recipient's b_O: not the
  other history's logits, and edges into the logits alone give the same.

Effects of single edges need not add up to the whole. Margins always use the clean trial's two answers.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError
from hyst_interp.interventions.patching import ANSWERS
from hyst_interp.model.hooked import Hooked, device_of
from hyst_interp.questions.edges.edge_forward import Change, EdgeRun, Messages, forward, graph_of, record, stream_at
from hyst_interp.questions.edges.graph import LOGITS, Edge, Graph, Input, graph_with
from hyst_interp.readout import chunks, read
from hyst_interp.references import DONOR
from hyst_interp.tasks.trials import Trials

LOGIT = {"units": "logits"}


def edge_logits(
    model: Hooked, base: EdgeRun, donor: Messages, edges: Iterable[Edge]
) -> Float[torch.Tensor, "trial d_vocab"]:
    """Logits at the query of the base run (`edge_forward.record`) where `edges` carry the donor's messages.

    Exact for any set: a patched edge reads `donor[source]`, every other edge what its source writes in this run. Raises
    UserError for an edge that the model does not have.
    """
    graph = graph_with(model.cfg.n_layers, model.cfg.n_heads, not model.cfg.attn_only)
    wanted = list(edges)
    graph.position_of(wanted)
    replaced: dict[Input, set[str]] = {}
    for edge in wanted:
        replaced.setdefault(edge.input, set()).add(edge.source)
    changes = {place: _reader(model, graph, place, sources, donor) for place, sources in replaced.items()}
    with torch.no_grad():
        return forward(model, base.messages["embed"], changes, base).logits


def _reader(model: Hooked, graph: Graph, place: Input, sources: set[str], donor: Messages) -> Change:
    """The stream of one input with the messages of `sources` taken from the donor."""
    last = graph.n_layers - 1
    in_last = place.node == LOGITS or place.node in (*graph.heads(last), graph.mlp(last))
    query_only = in_last and place.slot not in ("k", "v")

    def change(stream: torch.Tensor, messages: Messages) -> torch.Tensor:
        mixed = {
            source: donor[source] if source in sources else messages[source] for source in graph.sources_of(place.node)
        }
        return stream_at(model, graph, place.node, mixed, query_only)

    return change


def edge_effects(
    model: Hooked, trials: Trials, direction: str = "noise", edges: Sequence[Edge] | None = None
) -> xr.Dataset:
    """Effect of every edge (or of `edges`) on the margin of one network, by twin, per trial.

    Variables as those of a patching map: `effect` (edge, trial) = margin patched − margin of the base run, in logits;
    `contextual_effect`, `fixed_effect`, the same for each answer's logit; `base` and `donor` (trial), the margins of
    the run patched into and of the run patched from. Coordinates `source`, `target`, `slot` name an edge's parts.
    Raises UserError for trials without a twin, an unknown edge, or a model whose edges cannot be patched.
    """
    wanted = _checked(model, edges)
    parts = []
    for part in chunks(len(trials)):
        some = trials.take(part)
        base, donor = twin_runs(model, some, direction)
        after = [read(edge_logits(model, base, donor.messages, [edge]), some) for edge in wanted]
        before, given = read(base.logits, some), read(donor.logits, some)
        arrays = {name: np.stack([patched[name] - before[name] for patched in after]) for name in ANSWERS}
        parts.append(arrays | {"base": before["margin"], "donor": given["margin"]})
    joined = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
    method = {
        "effect": "margin with the edge patched − margin of the base run",
        "contextual_effect": "the same for logit[contextual]",
        "fixed_effect": "the same for logit[fixed]",
    }
    arrays = {
        name: (("edge", "trial"), joined[key], {**LOGIT, "method": method[name]})
        for name, key in zip(method, ANSWERS, strict=True)
    }
    arrays |= {
        "base": (("trial",), joined["base"], {**LOGIT, "method": "margin of the run that is patched into"}),
        "donor": (("trial",), joined["donor"], {**LOGIT, "method": "margin of the run that is patched from"}),
    }
    return xr.Dataset(arrays, edge_coords(wanted), {"direction": direction, "twin": str(trials.twin)})


def twin_runs(model: Hooked, trials: Trials, direction: str = "noise") -> tuple[EdgeRun, EdgeRun]:
    """The run patched into and the run patched from; UserError for trials without a twin or another direction."""
    if trials.corrupted is None:
        raise UserError("these trials have no twin to take messages from; make one with task.twin(trials, 'value').")
    if direction not in ("noise", "denoise"):
        raise UserError(f"direction '{direction}' does not exist; use noise or denoise.")
    where = device_of(model)
    clean, corrupted = (
        record(model, torch.from_numpy(tokens).to(where)) for tokens in (trials.tokens, trials.corrupted)
    )
    return (clean, corrupted) if direction == "noise" else (corrupted, clean)


def pair_effects(
    pair: PairData, twins: Trials, direction: str = "noise", edges: Sequence[Edge] | None = None
) -> xr.Dataset:
    """`edge_effects` of both histories on the same trials, joined along `branch`."""
    sides = [edge_effects(model, twins, direction, edges) for model in (pair.below, pair.above)]
    return xr.concat(sides, "branch", combine_attrs="override").assign_coords(branch=list(BRANCHES))


def gap_effects(pair: PairData, edges: Sequence[Edge] | None = None) -> xr.Dataset:
    """The gap, edge by edge: what the other history writes on the same trial, into each network, per trial.

    Laid out as an attenuation's rows: `margin` (branch, trial) before, `margin_after` and `answer_mass` (edge, branch,
    trial) with the edge carrying the other history's message. `analysis.exchange.exchanged` reads it: `moved`,
    the mean of the two directions, is the headline. Raises UserError as `edge_effects` does.
    """
    wanted = _checked(pair.below, edges)
    _checked(pair.above, wanted)
    models = (pair.below, pair.above)
    shape = (len(wanted), len(BRANCHES), len(pair.trials))
    before = np.empty(shape[1:], np.float32)
    margin, mass = np.empty(shape, np.float32), np.empty(shape, np.float32)
    for part in chunks(len(pair.trials)):
        some = pair.trials.take(part)
        runs = [record(model, torch.from_numpy(some.tokens).to(device_of(model))) for model in models]
        for side, model in enumerate(models):
            before[side, part] = read(runs[side].logits, some)["margin"]
            for row, edge in enumerate(wanted):
                after = read(edge_logits(model, runs[side], runs[1 - side].messages, [edge]), some)
                margin[row, side, part] = after["margin"]
                mass[row, side, part] = after["p_contextual"] + after["p_fixed"]
    method = "with the edge carrying the other history's message"
    dims = ("edge", "branch", "trial")
    return xr.Dataset(
        {
            "margin": (dims[1:], before, {**LOGIT, "method": "margin before any patch"}),
            "margin_after": (dims, margin, {**LOGIT, "method": f"margin {method}"}),
            "answer_mass": (dims, mass, {"units": "probability", "method": f"P(contextual) + P(fixed) {method}"}),
        },
        {**edge_coords(wanted), "branch": list(BRANCHES), "reference": ("edge", [DONOR.name] * len(wanted))},
        {"direction": "both", "twin": "the other history"},
    )


def edge_coords(edges: Sequence[Edge]) -> dict:
    """Labels of an `edge` dimension: the edge's name, and its source, target, and slot."""
    return {
        "edge": [str(edge) for edge in edges],
        "source": ("edge", [edge.source for edge in edges]),
        "target": ("edge", [edge.target for edge in edges]),
        "slot": ("edge", [edge.slot for edge in edges]),
    }


def edges_of(labelled: xr.Dataset | xr.DataArray) -> list[Edge]:
    """The edges that label an array."""
    parts = (labelled[name].values for name in ("source", "target", "slot"))
    return [Edge(str(source), str(target), str(slot)) for source, target, slot in zip(*parts, strict=True)]


def _checked(model: Hooked, edges: Sequence[Edge] | None) -> list[Edge]:
    graph = graph_of(model)
    wanted = list(graph.edges if edges is None else edges)
    if not wanted:
        raise UserError("no edges are named; name at least one, or leave edges out for all of them.")
    graph.position_of(wanted)
    return wanted
