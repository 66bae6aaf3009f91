"""What a component's output can be replaced by: every reference in one object, and all of them in one tuple.

A reference says its name (as on disk and in JSON), what it is in a sentence, what has to be measured for it, how its
values are built from that, and how what it moves is counted. Whatever offers, checks, builds, or explains references
goes through `REFERENCES`, so another one is another class here. No tensor library is needed to read the names; means
and what networks write are whatever `interventions.references` makes.

Colours, and which references a study or a chapter asks for, are said elsewhere, by the objects' names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from hyst_interp.errors import UserError
from hyst_interp.sites import Component

HISTORIES = ("below", "above")
"""The two networks, each of which is changed."""
ANCHOR = "anchor"
"""The source of means that is neither: the common ancestor."""


class Values(NamedTuple):
    """What is put in for one component of one network."""

    values: Any
    """A tensor: [pos, …] for all trials alike, [trial, pos, …] when `per_trial`."""
    per_trial: bool
    frame: Literal["site", "stream"]
    """The component's own space (d_head for a head), or the residual stream."""


@dataclass(frozen=True)
class Reference:
    """One thing to replace components by; subclasses say what, and build it."""

    name: ClassVar[str]
    """As on disk, in JSON, and on the command line."""
    sentence: ClassVar[str]
    """What it is, for people; starts small and has no full stop."""
    means_of: ClassVar[tuple[str, ...]] = ()
    """Networks whose means it is built from, of `HISTORIES` and `ANCHOR`."""
    is_exchange: ClassVar[bool] = False
    """Whether it puts in what the other history writes on the same trial.

    Then each direction is an estimate of what moves, and the mean of both counts; else both networks lose the same
    thing, and the gap minus the gap after counts, the sum.
    """

    @property
    def needs_anchor(self) -> bool:
        """Whether the common ancestor has to be at hand."""
        return ANCHOR in self.means_of

    def build(
        self,
        component: Component,
        branch: str,
        means: Mapping[str, Any],
        written: Mapping[str, Mapping[Component, Any]],
    ) -> Values:
        """What is put into the network of `branch` for a component.

        Args:
            means: network → its `Means` (`z` of heads, `written` of all components), at least those of `means_of`.
            written: branch → component → what it writes on the trials [trial, pos, d_model], for an exchange.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class OwnMean(Reference):
    """A network's own mean, before a head's W_O."""

    name, sentence = "own-mean", "each network's own mean over 4,096 inputs, as in the paper"
    means_of = HISTORIES

    def build(self, component, branch, means, written):
        own = means[branch]
        return Values(own.z[component] if component.is_head else own.written[component], False, "site")


@dataclass(frozen=True)
class PooledMean(Reference):
    """The average of both networks' means of what is added to the residual stream."""

    name, sentence = "pooled-mean", "the average of both networks' means"
    means_of = HISTORIES

    def build(self, component, branch, means, written):
        import torch

        both = torch.stack([means[source].written[component] for source in HISTORIES])
        return Values(both.mean(0), False, "stream")


@dataclass(frozen=True)
class Donor(Reference):
    """What the other network writes on the same trial."""

    name, sentence = "donor", "what the other history writes on the same trial"
    is_exchange = True

    def build(self, component, branch, means, written):
        return Values(written[HISTORIES[1 - HISTORIES.index(branch)]][component], True, "stream")


@dataclass(frozen=True)
class AnchorMean(Reference):
    """The common ancestor's mean of what is added to the residual stream."""

    name, sentence = "anchor-mean", "the mean of the anchor that both histories started from"
    means_of = (ANCHOR,)

    def build(self, component, branch, means, written):
        return Values(means[ANCHOR].written[component], False, "stream")


OWN_MEAN, POOLED_MEAN, DONOR, ANCHOR_MEAN = OwnMean(), PooledMean(), Donor(), AnchorMean()
REFERENCES: tuple[Reference, ...] = (OWN_MEAN, POOLED_MEAN, DONOR, ANCHOR_MEAN)
"""In the order in which they are offered."""


def reference_names(anchor: bool = True) -> tuple[str, ...]:
    """Names of all references; without `anchor`, of those that do not need it."""
    return tuple(reference.name for reference in REFERENCES if anchor or not reference.needs_anchor)


def reference(name: str) -> Reference:
    """The reference of that name; UserError where there is none."""
    by_name = {reference.name: reference for reference in REFERENCES}
    if name not in by_name:
        raise UserError(f"reference '{name}' does not exist; use one of {', '.join(by_name)}.")
    return by_name[name]


def exchanges() -> tuple[str, ...]:
    """Names of the references whose two directions are averaged."""
    return tuple(reference.name for reference in REFERENCES if reference.is_exchange)
