"""The nodes and edges of a transformer, as small frozen data; no tensor library is needed to read them.

Nodes write to the residual stream (`embed`, heads, MLPs) or only read from it (`logits`). An *input* is a place where
a node reads: a head reads three times, as its query, key, and value; an MLP and the logits once. An edge joins a
source to an input, so `L0H1→L1H2.q` is what L0H1 tells the query of L1H2. Every input reads every earlier source, so
with H heads and an MLP a layer, layer l has 3H(1 + l(H + 1)) edges into heads and 1 + l(H + 1) + H into its MLP.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hyst_interp.errors import UserError
from hyst_interp.sites import Component, component

EMBED, LOGITS = "embed", "logits"
SLOTS = ("q", "k", "v", "in")
"""Inputs of a node: query, key, and value of a head; `in` of an MLP and of the logits."""

_EDGE = re.compile(r"(\S+?)(?:→|->)([^\s.]+)(?:\.([qkv]))?")


@dataclass(frozen=True, order=True)
class Input:
    """One place where a node reads the residual stream."""

    node: str
    slot: str

    def __str__(self) -> str:
        return self.node if self.slot == "in" else f"{self.node}.{self.slot}"


@dataclass(frozen=True, order=True)
class Edge:
    """What `source` writes, as one input of `target` reads it."""

    source: str
    target: str
    slot: str = "in"

    def __post_init__(self) -> None:
        if self.slot not in SLOTS:
            raise UserError(f"slot '{self.slot}' does not exist; use one of {', '.join(SLOTS)}.")

    @property
    def input(self) -> Input:
        """Where the edge ends."""
        return Input(self.target, self.slot)

    def __str__(self) -> str:
        return f"{self.source}→{self.input}"


@dataclass(frozen=True)
class Graph:
    """The graph of a model with `n_layers` of `n_heads` heads, with or without MLPs."""

    n_layers: int
    n_heads: int
    mlps: bool = True

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Everything that writes, in the order in which the residual stream receives it."""
        blocks = [self.heads(layer) + ((self.mlp(layer),) if self.mlps else ()) for layer in range(self.n_layers)]
        return (EMBED, *(node for block in blocks for node in block))

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Sources, then the logits."""
        return (*self.sources, LOGITS)

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """Every input, in the order of the nodes."""
        return tuple(Input(node, slot) for node in self.nodes[1:] for slot in slots_of(node))

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Every edge, target by target, slot by slot, earlier sources first."""
        return tuple(
            Edge(source, target.node, target.slot) for target in self.inputs for source in self.sources_of(target.node)
        )

    def heads(self, layer: int) -> tuple[str, ...]:
        """Names of a layer's heads."""
        return tuple(str(Component(layer, head)) for head in range(self.n_heads))

    def mlp(self, layer: int) -> str:
        """Name of a layer's MLP."""
        return str(Component(layer))

    def sources_of(self, target: str) -> tuple[str, ...]:
        """What stands in the residual stream where `target` reads; heads of one layer do not read one another."""
        if target == LOGITS:
            return self.sources
        node = component(target)
        width = self.n_heads + self.mlps
        return self.sources[: 1 + node.layer * width + (0 if node.is_head else self.n_heads)]

    def position_of(self, edges: Iterable[Edge]) -> list[int]:
        """Places of `edges` in `self.edges`; UserError for one that this model does not have."""
        places = self._places
        positions = []
        for wanted in edges:
            if wanted not in places:
                raise UserError(
                    f"edge '{wanted}' does not exist in a model of {self.n_layers} layers of {self.n_heads} heads; name"
                    f" one of its {len(self.edges)}, such as '{self.edges[0]}'."
                )
            positions.append(places[wanted])
        return positions

    @cached_property
    def _places(self) -> dict[Edge, int]:
        return {graph_edge: place for place, graph_edge in enumerate(self.edges)}


@lru_cache(maxsize=16)
def graph_with(n_layers: int, n_heads: int, mlps: bool) -> Graph:
    """The one Graph of a shape: its edges are listed once, however many runs ask for them."""
    return Graph(n_layers, n_heads, mlps)


def slots_of(node: str) -> tuple[str, ...]:
    """The inputs that a node has; none for the embedding."""
    if node == EMBED:
        return ()
    return SLOTS[:3] if node != LOGITS and component(node).is_head else SLOTS[3:]


def edge(text: str) -> Edge:
    """`L0H1→L1H2.q`, or with `->`, as an Edge; UserError for any other text."""
    match = _EDGE.fullmatch(text)
    if not match:
        raise UserError(f"edge '{text}' cannot be read; write it as L0H1→L1H2.q or embed→logits.")
    parsed = Edge(match[1], match[2], match[3] or "in")
    for node in (parsed.source, parsed.target):
        if node not in (EMBED, LOGITS):
            component(node)
    if parsed.source == LOGITS or parsed.slot not in slots_of(parsed.target):
        raise UserError(
            f"edge '{text}' cannot be read: heads read as q, k, or v, all else has no slot, and logits write nothing;"
            " write it as L0H1→L1H2.q or embed→logits."
        )
    return parsed
