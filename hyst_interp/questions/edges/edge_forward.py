"""The forward with every input apart: what each node writes, and what each input reads, can be had and changed.

The usual forward adds everything into one residual stream that all nodes read. Here a head's query, key, and value,
each MLP, and the logits can each be given a stream of its own. Three things make runs cheap and exact:

1. What a change cannot reach is taken from the base run: another head of the same layer, an untouched slot.
2. The query is the last position and only its logits are asked for, so the last layer's queries, MLP, and outputs are
   computed there alone.
3. Streams are summed source by source in one order, and every head is projected by itself. So an input that reads the
   same numbers computes the same bits, and a change by nothing is no change at all.

It equals the HookedTransformer's forward up to rounding, is differentiable, and covers `Graph`s of any depth.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int

from hyst_interp.errors import UserError
from hyst_interp.interventions.hooks import contribution
from hyst_interp.model.hooked import Hooked
from hyst_interp.model.layers import layer_norm
from hyst_interp.model.plain_build import ACTIVATIONS, Accepted, refusal
from hyst_interp.questions.edges.graph import EMBED, LOGITS, Graph, Input, graph_with

Messages = Mapping[str, torch.Tensor]
"""Source → what it writes, [trial, pos, d_model]; sources of the last layer write at the query alone, pos = 1."""
Change = Callable[[torch.Tensor, Messages], torch.Tensor]
"""From the stream that an input would read, and what sources have written in this run, to what it reads."""

COMPUTED = Accepted(
    ("LN", "LNPre", None),
    (*ACTIVATIONS, "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu2", "solu"),
    (torch.float32, torch.float64),
)
"""What `forward` computes: the MLP's activation is the model's own function, which here has nothing after it."""


@dataclass(frozen=True)
class EdgeRun:
    """One run, kept."""

    messages: dict[str, torch.Tensor] = field(repr=False)
    """Source → what it wrote."""
    projected: dict[Input, torch.Tensor] = field(repr=False)
    """A head's query [trial, 1|pos, d_head], keys, or values [trial, pos, d_head]."""
    logits: Float[torch.Tensor, "trial d_vocab"]
    """At the query."""


def graph_of(model: Hooked) -> Graph:
    """The graph of a model; UserError for a build whose edges are not these, or that carries hooks of its own."""
    reason = refusal(model, COMPUTED)
    if reason is not None:
        raise UserError(
            f"edges of model '{model.cfg.model_name}' cannot be patched: {reason}; change that, or patch sites instead,"
            " which any model allows."
        )
    cfg = model.cfg
    return graph_with(cfg.n_layers, cfg.n_heads, not cfg.attn_only)


def embedding(model: Hooked, tokens: Int[torch.Tensor, "trial pos"]) -> Float[torch.Tensor, "trial pos d_model"]:
    """What `embed` writes: token and position."""
    weights: torch.Tensor = model.embed.W_E  # type: ignore[attr-defined]
    return weights[tokens] + model.pos_embed.W_pos[: tokens.shape[1]]  # type: ignore[attr-defined]


def record(model: Hooked, tokens: Int[torch.Tensor, "trial pos"]) -> EdgeRun:
    """The run on these prompts, without gradient."""
    with torch.no_grad():
        return forward(model, embedding(model, tokens))


def forward(
    model: Hooked,
    start: Float[torch.Tensor, "trial pos d_model"],
    changes: Mapping[Input, Change] | None = None,
    base: EdgeRun | None = None,
) -> EdgeRun:
    """A run from what `embed` writes, where the inputs in `changes` read something else.

    With `base`, the run without changes (`start` is then its embedding), everything that no change has
    reached is taken from there. Differentiable in `start` and in whatever the changes bring in.
    """
    return _Run(model, changes or {}, base).through(start)


def stream_at(
    model: Hooked, graph: Graph, target: str, messages: Messages, query_only: bool
) -> Float[torch.Tensor, "trial pos d_model"]:
    """The residual stream that `target` reads when its sources write `messages`, in the forward's order of summing.

    b_O of every layer before it belongs to no source and is added in its place.
    """
    total = None
    last_head = {graph.heads(layer)[-1]: layer for layer in range(graph.n_layers)}
    for source in graph.sources_of(target):
        message = messages[source][:, -1:] if query_only else messages[source]
        total = message if total is None else total + message
        if source in last_head:
            total = total + model.blocks[last_head[source]].attn.b_O
    assert total is not None
    return total


class _Run:
    """One pass from the embedding to the logits."""

    def __init__(self, model: Hooked, changes: Mapping[Input, Change], base: EdgeRun | None) -> None:
        self.model, self.cfg, self.changes, self.base = model, model.cfg, changes, base
        self.graph = graph_with(model.cfg.n_layers, model.cfg.n_heads, not model.cfg.attn_only)
        self.messages: dict[str, torch.Tensor] = {}
        self.projected: dict[Input, torch.Tensor] = {}
        self.touched = base is None
        """Whether the stream may differ from the base run's."""

    def through(self, start: torch.Tensor) -> EdgeRun:
        self.messages[EMBED] = start
        stream = start
        for layer in range(self.cfg.n_layers):
            block, last = self.model.blocks[layer], layer == self.cfg.n_layers - 1
            changed, normed = self.touched, None
            if changed:
                normed = self._norm(block, "ln1", stream)
            for head, node in enumerate(self.graph.heads(layer)):
                changed |= self._head(layer, head, node, stream, normed, last)
            self.touched = changed
            stream = stream[:, -1:] if last else stream
            for node in self.graph.heads(layer):
                stream = stream + self.messages[node]
            stream = stream + block.attn.b_O
            if self.graph.mlps:
                node = self.graph.mlp(layer)
                self.touched |= self._mlp(block, node, stream)
                stream = stream + self.messages[node]
        return EdgeRun(self.messages, self.projected, self._logits(stream))

    def _head(
        self, layer: int, head: int, node: str, stream: torch.Tensor, normed: torch.Tensor | None, last: bool
    ) -> bool:
        """Fill in what a head projects and writes; whether that may differ from the base run."""
        attn, changed = self.model.blocks[layer].attn, False
        for slot in "qkv":
            place = Input(node, slot)
            if self.base is not None and not self.touched and place not in self.changes:
                self.projected[place] = self.base.projected[place]
                continue
            only = last and slot == "q"
            if place in self.changes:
                own = self.changes[place](stream[:, -1:] if only else stream, self.messages)
                read = self._norm(self.model.blocks[layer], "ln1", own)
            else:
                assert normed is not None
                read = normed[:, -1:] if only else normed
            name = slot.upper()
            self.projected[place] = (
                read.contiguous() @ getattr(attn, f"W_{name}")[head] + getattr(attn, f"b_{name}")[head]
            )
            changed = True
        if not changed:
            assert self.base is not None
            self.messages[node] = self.base.messages[node]
            return False
        query, keys, values = (self.projected[Input(node, slot)] for slot in "qkv")
        scores = query @ keys.transpose(1, 2) / (self.cfg.attn_scale if self.cfg.use_attn_scale else 1.0)
        if not last:
            n_pos = keys.shape[1]
            later = torch.ones(n_pos, n_pos, dtype=torch.bool, device=keys.device).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        self.messages[node] = contribution(torch.softmax(scores, dim=-1) @ values, attn.W_O[head])
        return True

    def _mlp(self, block: torch.nn.Module, node: str, stream: torch.Tensor) -> bool:
        place = Input(node, "in")
        if self.base is not None and not self.touched and place not in self.changes:
            self.messages[node] = self.base.messages[node]
            return False
        mlp = block.mlp
        read = self.changes[place](stream, self.messages) if place in self.changes else stream
        hidden = self._norm(block, "ln2", read) @ mlp.W_in + mlp.b_in  # type: ignore[operator]
        self.messages[node] = mlp.act_fn(hidden) @ mlp.W_out + mlp.b_out  # type: ignore[operator]
        return True

    def _logits(self, stream: torch.Tensor) -> torch.Tensor:
        place = Input(LOGITS, "in")
        if self.base is not None and not self.touched and place not in self.changes:
            return self.base.logits
        read = self.changes[place](stream, self.messages) if place in self.changes else stream
        final = self._norm(self.model, "ln_final", read)[:, -1]
        return final @ self.model.unembed.W_U + self.model.unembed.b_U  # type: ignore[attr-defined]

    def _norm(self, owner: object, name: str, x: torch.Tensor) -> torch.Tensor:
        if self.cfg.normalization_type is None:
            return x
        norm = getattr(owner, name)
        weights = (norm.w, norm.b) if self.cfg.normalization_type == "LN" else (None, None)
        return layer_norm(x, *weights, self.cfg.eps)
