"""Names of places inside a network, as plain strings and numbers; no tensor library is needed to read them.

A *site* is a kind of activation that can be patched (`resid_pre`, `result`, `mlp_out`, `pattern`); a *component* is a
head (`L1H3`) or an MLP (`L0MLP`) whose output can be replaced. Both translate into TransformerLens's hook names here
and nowhere else.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hyst_interp.errors import UserError

SITES = ("resid_pre", "result", "mlp_out", "pattern")
"""Sites of activation patching."""

_COMPONENT = re.compile(r"L(\d+)(?:H(\d+)|MLP)")


@dataclass(frozen=True, order=True)
class Component:
    """One head, or one MLP (whose `head` is −1, so that components sort)."""

    layer: int
    head: int = -1

    def __post_init__(self) -> None:
        if self.layer < 0:
            raise UserError(f"layer {self.layer} of a component does not exist; count layers from 0.")
        if self.head < -1:
            raise UserError(f"head {self.head} does not exist; count heads from 0, or leave it out for the MLP.")

    @property
    def is_head(self) -> bool:
        """Whether it is an attention head."""
        return self.head >= 0

    def __str__(self) -> str:
        return f"L{self.layer}H{self.head}" if self.is_head else f"L{self.layer}MLP"


def component(text: str) -> Component:
    """`L1H3` or `L0MLP` as a Component; UserError for any other text."""
    match = _COMPONENT.fullmatch(text)
    if not match:
        raise UserError(f"component '{text}' cannot be read; write a head as L1H3 or an MLP as L0MLP.")
    return Component(int(match[1]), int(match[2]) if match[2] is not None else -1)


def components(n_layers: int, n_heads: int, mlps: bool = True) -> tuple[Component, ...]:
    """Every component of a model, heads first, layer by layer."""
    heads = [Component(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    return (*heads, *(Component(layer) for layer in range(n_layers) if mlps))


@dataclass(frozen=True)
class ComponentSet:
    """A named set of components: one row of an attenuation table."""

    name: str
    members: frozenset[Component]


JOINT_SETS = ("heads", "mlps", "all")
"""Names of sets that hold whatever components of their kind a model has."""


def is_joined(name: str) -> bool:
    """Whether a set was written as single components with `+` between them."""
    return "+" in name


def parse_sets(text: str, n_layers: int, n_heads: int, mlps: bool = True) -> tuple[ComponentSet, ...]:
    """`each`, `heads`, `mlps`, `all`, or components joined by `+`; a comma separates sets.

    Raises UserError for a name that cannot be read or that this model does not have.
    """
    every = components(n_layers, n_heads, mlps)
    heads = frozenset(c for c in every if c.is_head)
    joint = dict(zip(JOINT_SETS, (heads, frozenset(every) - heads, frozenset(every)), strict=True))
    sets: list[ComponentSet] = []
    for name in (part.strip() for part in text.split(",")):
        if name == "each":
            sets.extend(ComponentSet(str(c), frozenset([c])) for c in every)
            continue
        members = joint[name] if name in joint else frozenset(component(part.strip()) for part in name.split("+"))
        missing = [str(c) for c in sorted(members) if c not in every]
        if missing:
            raise UserError(
                f"component '{missing[0]}' does not exist: the model has {n_layers} layers of {n_heads} heads"
                f" ({_span(every)}); name one of these."
            )
        if not members:
            raise UserError(f"set '{name}' is empty: the model has no MLP; leave it out.")
        sets.append(ComponentSet(name, members))
    unique = {s.name: s for s in sets}
    return tuple(unique.values())


def _span(every: Iterable[Component]) -> str:
    names = [str(c) for c in every]
    heads = [n for n in names if "H" in n]
    return f"{heads[0]} to {heads[-1]}" + "".join(f", {n}" for n in names if n.endswith("MLP"))


@dataclass(frozen=True, order=True)
class Site:
    """One place of the network: a kind from `SITES`, a layer, and a head where the kind has heads.

    `resid_pre` has n_layers + 1 rows; the last is the final `resid_post`. Raises UserError for an unknown kind, a
    missing or superfluous head, and for layers and heads below 0; what a model has is `check_layer`'s to say.
    """

    kind: str
    layer: int
    head: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in SITES:
            raise UserError(f"site '{self.kind}' does not exist; use one of {', '.join(SITES)}.")
        if (self.head is None) == (self.kind in ("result", "pattern")):
            raise UserError(f"site '{self.kind}' {'needs a' if self.head is None else 'has no'} head; correct it.")
        for name, value in (("layer", self.layer), ("head", self.head)):
            if value is not None and value < 0:
                raise UserError(f"{name} {value} of site '{self.kind}' does not exist; count {name}s from 0.")


def check_layer(site: Site, n_layers: int) -> None:
    """UserError unless a model of so many layers has the site's layer (of `resid_pre` it has one more)."""
    last = n_layers if site.kind == "resid_pre" else n_layers - 1
    if site.layer > last:
        raise UserError(
            f"layer {site.layer} of site '{site.kind}' does not exist: this model's go from 0 to {last}; choose one of"
            " these."
        )


def hook_z(layer: int) -> str:
    """Hook of the heads' outputs before W_O: [batch, pos, head, d_head]."""
    return f"blocks.{layer}.attn.hook_z"


def hook_pattern(layer: int) -> str:
    """Hook of attention patterns: [batch, head, query_pos, key_pos]."""
    return f"blocks.{layer}.attn.hook_pattern"


def hook_attn_out(layer: int) -> str:
    """Hook of what attention adds to the residual stream, b_O included: [batch, pos, d_model]."""
    return f"blocks.{layer}.hook_attn_out"


def hook_mlp_out(layer: int) -> str:
    """Hook of what the MLP adds to the residual stream: [batch, pos, d_model]."""
    return f"blocks.{layer}.hook_mlp_out"


def hook_resid(row: int, n_layers: int) -> str:
    """Hook of the residual stream: row l is `resid_pre` of layer l, row n_layers the final `resid_post`.

    Raises UserError for a row below 0 or above n_layers.
    """
    check_layer(Site("resid_pre", row), n_layers)
    return f"blocks.{row}.hook_resid_pre" if row < n_layers else f"blocks.{n_layers - 1}.hook_resid_post"
