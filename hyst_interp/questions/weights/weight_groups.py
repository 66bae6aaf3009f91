"""Which weights: the parameters of a model, divided into groups that do one job each, and moved between two histories.

Every parameter, or every head's slice of it, is in exactly one group:

- `L0H1 QK`: W_Q, b_Q, W_K, b_K of a head, what it attends to; `L0H1 OV`: W_V, b_V, W_O, what it then writes. Queries
  and keys (values and outputs) act only through their product, so they move together.
- `L0 b_O` stands alone. It is one vector a layer that every prompt gets whatever the heads do; giving it to a head, or
  a share of it to each, would make that head's number depend on a choice that the network does not make.
- `L0MLP in`, `L0MLP out`: W_in, b_in and W_out, b_out.
- `embeddings`: W_E, W_pos; `unembedding`: W_U, b_U.
- LayerNorms, a group a site: `L0 ln1` scales what all heads of a layer read, `L0 ln2` what its MLP reads, `ln_final`
  what is read out. These are different places, and one group for all would hide which of them counts.

`families` joins the groups of one kind into the coarse partition (QK, OV, …, LayerNorms).

Moving a group makes sense because both histories come from one anchor, a few updates ago: their heads and coordinates
correspond. Between networks of different seeds they do not.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from hyst_interp.config import ModelConfig
from hyst_interp.errors import UserError
from hyst_interp.model.build import Weights
from hyst_interp.sites import Component

FAMILIES = ("QK", "OV", "b_O", "MLP in", "MLP out", "embeddings", "unembedding", "LayerNorms")
"""Kinds of groups, in the order of `families`."""


@dataclass(frozen=True)
class Part:
    """A parameter, or one head's slice of it."""

    parameter: str
    head: int | None = None

    def of(self, weights: Weights) -> torch.Tensor:
        """A view of its values."""
        return weights[self.parameter] if self.head is None else weights[self.parameter][self.head]


@dataclass(frozen=True)
class WeightGroup:
    """Weights that move together."""

    name: str
    family: str
    """One of `FAMILIES`."""
    parts: tuple[Part, ...]


def groups(config: ModelConfig) -> tuple[WeightGroup, ...]:
    """The fine partition of a model's parameters, embeddings first, layer by layer."""
    partition = [_whole("embeddings", "embeddings", "embed.W_E", "pos_embed.W_pos")]
    norms = config.normalization_type == "LN"
    for layer in range(config.n_layers):
        block, attn = f"blocks.{layer}", f"blocks.{layer}.attn"
        partition += [_norm(f"L{layer} ln1", f"{block}.ln1")] if norms else []
        for head in range(config.n_heads):
            name = Component(layer, head)
            for family, members in (("QK", ("W_Q", "b_Q", "W_K", "b_K")), ("OV", ("W_V", "b_V", "W_O"))):
                parts = tuple(Part(f"{attn}.{member}", head) for member in members)
                partition.append(WeightGroup(f"{name} {family}", family, parts))
        partition.append(_whole(f"L{layer} b_O", "b_O", f"{attn}.b_O"))
        if config.d_mlp:
            partition += [_norm(f"L{layer} ln2", f"{block}.ln2")] if norms else []
            partition.append(_whole(f"L{layer}MLP in", "MLP in", f"{block}.mlp.W_in", f"{block}.mlp.b_in"))
            partition.append(_whole(f"L{layer}MLP out", "MLP out", f"{block}.mlp.W_out", f"{block}.mlp.b_out"))
    partition += [_norm("ln_final", "ln_final")] if norms else []
    partition.append(_whole("unembedding", "unembedding", "unembed.W_U", "unembed.b_U"))
    return tuple(partition)


def families(config: ModelConfig) -> tuple[WeightGroup, ...]:
    """The coarse partition: every kind of group that the model has, joined."""
    fine = groups(config)
    joined = {name: [part for group in fine if group.family == name for part in group.parts] for name in FAMILIES}
    return tuple(WeightGroup(name, name, tuple(parts)) for name, parts in joined.items() if parts)


def _whole(name: str, family: str, *parameters: str) -> WeightGroup:
    return WeightGroup(name, family, tuple(Part(parameter) for parameter in parameters))


def _norm(name: str, module: str) -> WeightGroup:
    return _whole(name, "LayerNorms", f"{module}.w", f"{module}.b")


def moved(receiver: Weights, donor: Weights, which: Iterable[WeightGroup]) -> dict[str, torch.Tensor]:
    """The receiver's weights with the groups of `which` from the donor; new tensors, neither side is changed.

    Raises:
        UserError: weights of different names or shapes.
    """
    refuse_unlike(receiver, donor)
    result = {name: value.clone() for name, value in receiver.items()}
    for group in which:
        for part in group.parts:
            part.of(result).copy_(part.of(donor))
    return result


def distance(one: Weights, two: Weights, group: WeightGroup) -> float:
    """Euclidean distance of two histories' weights within a group."""
    squares = [(part.of(one).double() - part.of(two).double()).pow(2).sum() for part in group.parts]
    return float(torch.stack(squares).sum().sqrt())


def refuse_unlike(one: Weights, two: Weights) -> None:
    """UserError unless both have the same parameters in the same shapes."""
    odd = sorted(name for name in one.keys() | two.keys() if _shape(one, name) != _shape(two, name))
    if odd:
        raise UserError(
            f"parameter '{odd[0]}' is {_shape(one, odd[0])} in one network and {_shape(two, odd[0])} in the other;"
            " weights move only between networks of one shape."
        )


def _shape(weights: Weights, name: str) -> str:
    return "×".join(map(str, weights[name].shape)) if name in weights else "missing"
