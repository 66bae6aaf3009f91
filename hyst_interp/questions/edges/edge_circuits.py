"""Circuits at a chosen faithfulness: the first edges of a ranking that carry the answer when all others are corrupted.

Edges are ranked by |mean effect|. A circuit of k edges is run on the clean prompt with *every other edge* carrying the
corrupted run's message; its faithfulness is the share of the difference that it keeps,
mean(margin − margin corrupted) / mean(margin clean − margin corrupted), a ratio of means over trials, unclipped. All
edges give 1 and none gives 0, bit for bit.

Faithfulness need not grow with k: an edge that works against the answer lowers it, and shares above 1 occur. So nothing
is bisected. Every size is measured, the whole curve is kept, and beside the first size that reaches the wanted share
stands the size from which on no larger one falls below it. The floor is the same for random rankings. A prefix of a
ranking is not the smallest circuit; `prune` takes out what it can do without. A ranking made on the very trials that it
is judged on flatters the circuit; take one made on other trials where that matters.

Faithfulness under replacement of the complement: Wang et al., "Interpretability in the Wild" (2022); by edges: Conmy et
al., "Towards Automated Circuit Discovery" (2023); Hanna et al., "Have Faith in Faithfulness" (2024).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import QUANTITY
from hyst_interp.errors import UserError
from hyst_interp.model.hooked import Hooked
from hyst_interp.questions.edges.edge_forward import EdgeRun, graph_of
from hyst_interp.questions.edges.graph import Edge
from hyst_interp.questions.edges.measure import edge_coords, edge_logits, edges_of, twin_runs
from hyst_interp.readout import chunks, read
from hyst_interp.statistics import Estimate, ratio_of_means
from hyst_interp.streams import Stream
from hyst_interp.tasks.trials import Trials

FAITHFULNESS = 0.9
"""Share of the difference between clean and corrupted that a circuit has to keep."""


@dataclass(frozen=True)
class Circuit:
    """The first edges of a ranking that keep the wanted share."""

    edges: tuple[Edge, ...]
    """In the order of the ranking."""
    wanted: float
    """The share that was asked for."""
    faithfulness: Estimate
    """The share that they keep, with Fieller's interval over trials."""
    lasting: int | None
    """The size from which on every size of the curve keeps the wanted share; len(edges) where the curve never falls.
    None for a pruned circuit, which is no prefix."""

    def __len__(self) -> int:
        return len(self.edges)


def ranking(effects: xr.Dataset | xr.DataArray) -> tuple[Edge, ...]:
    """Edges by |mean effect|, largest first, from effects (edge[, trial]) or scores; ties in the graph's order."""
    array = effects["effect"] if isinstance(effects, xr.Dataset) else effects
    size = np.abs(mean_effect(array).values)
    edges = edges_of(array)
    return tuple(edges[place] for place in np.argsort(-size, kind="stable"))


def mean_effect(array: xr.DataArray) -> xr.DataArray:
    """Effects averaged over trials where they are kept, dims (edge)."""
    wide = array.astype("float64")
    effects = wide.mean("trial") if "trial" in wide.dims else wide
    if effects.dims != ("edge",):
        raise UserError(
            f"effects have dims {', '.join(map(str, array.dims))}; select one network, so that edge and trial are left."
        )
    return effects


def random_rankings(model: Hooked, stream: Stream, n: int) -> list[tuple[Edge, ...]]:
    """`n` random orders of all edges, the floor of a curve; a pure function of `stream`."""
    edges = graph_of(model).edges
    return [tuple(edges[i] for i in stream.generator(index).permutation(len(edges))) for index in range(n)]


def faithfulness_curve(
    model: Hooked, trials: Trials, order: Sequence[Edge], sizes: Iterable[int] | None = None
) -> xr.Dataset:
    """Margins of the circuits of the first `size` edges of a ranking, per trial.

    Variables: `margin` (size, trial), `clean` and `corrupted` (trial), in logits. `sizes` are all, 0 … every edge, by
    default. The coordinate `edge` (size) names the edge that a size adds (nothing at 0). Raises UserError for a ranking
    that does not hold every edge once, a size beyond it, or trials without a twin.
    """
    every = graph_of(model).edges
    if len(order) != len(every) or set(order) != set(every):
        raise UserError(
            f"the ranking holds {len(set(order))} different edges of the model's {len(every)}; rank every edge once."
        )
    wanted = sorted(set(range(len(every) + 1) if sizes is None else sizes))
    if not wanted or wanted[0] < 0 or wanted[-1] > len(every):
        raise UserError(f"sizes are {wanted or 'empty'}; use sizes from 0 to the model's {len(every)} edges.")
    bench = _bench(model, trials)
    margin = np.stack([_margins(model, bench, order[size:]) for size in wanted])
    first, last = _ends(bench)
    unit = {"units": "logits"}
    return xr.Dataset(
        {
            "margin": (("size", "trial"), margin, {**unit, "method": "margin, all other edges corrupted"}),
            "clean": (("trial",), first, {**unit, "method": "margin of the clean run"}),
            "corrupted": (("trial",), last, {**unit, "method": "margin of the corrupted run"}),
        },
        {"size": wanted, "added": ("size", ["" if size == 0 else str(order[size - 1]) for size in wanted])},
        {"twin": str(trials.twin)},
    )


def shares(curve: xr.Dataset) -> xr.DataArray:
    """Faithfulness of every size of a curve; exactly 0 for no edge and 1 for all. UserError where nothing is to share.

    Dims (size[, others]); a ratio of means over trials.
    """
    wide = curve.astype("float64")
    whole = (wide["clean"] - wide["corrupted"]).mean("trial")
    if (whole == 0).any():
        raise UserError(
            "clean and corrupted margins have one mean, so no share of their difference exists; use more trials."
        )
    faithfulness = (wide["margin"] - wide["corrupted"]).mean("trial") / whole + 0.0  # −0 becomes 0
    return faithfulness.assign_attrs(units="share of the difference", method="ratio of means over trials")


def circuit(curve: xr.Dataset, order: Sequence[Edge], faithfulness: float = FAITHFULNESS) -> Circuit:
    """The smallest measured prefix of `order` that keeps at least `faithfulness` of the difference.

    `curve` is the ranking's own (`faithfulness_curve`). Raises UserError for a share outside (0, 1], or where no size
    of a curve measured in part reaches it.
    """
    if not 0 < faithfulness <= 1:
        raise UserError(f"faithfulness is {faithfulness:g}; use a share above 0 and at most 1.")
    kept_shares = shares(curve)
    sizes, reached = kept_shares["size"].values, kept_shares.values >= faithfulness
    if not reached.any():
        raise UserError(
            f"no circuit of at most {int(sizes[-1])} edges keeps {faithfulness:g} of the difference;"
            " measure larger sizes."
        )
    first = int(np.argmax(reached))
    below = np.flatnonzero(~reached)
    lasting = int(sizes[min(below[-1] + 1, len(sizes) - 1)]) if below.size else int(sizes[0])
    wide = curve.isel(size=first).astype("float64")
    share = _share((wide["margin"] - wide["corrupted"]).values, (wide["clean"] - wide["corrupted"]).values)
    return Circuit(tuple(order[: int(sizes[first])]), faithfulness, share, lasting)


def prune(model: Hooked, trials: Trials, found: Circuit) -> Circuit:
    """The circuit without the edges that it can do without, at the share that was asked for.

    A ranking by single effects keeps edges whose work others do too. Here edges are tried from the last of the ranking
    to the first, and left out for good where the rest still keeps the wanted share; passes are repeated until none can
    go. The result is minimal edge by edge, not the smallest of all. Raises UserError where `found` does not keep the
    share on these trials to begin with.
    """
    bench, every = _bench(model, trials), graph_of(model).edges
    clean, corrupted = (end.astype(np.float64) for end in _ends(bench))

    def kept(edges: Sequence[Edge]) -> np.ndarray:
        inside = set(edges)
        return _margins(model, bench, [edge for edge in every if edge not in inside]) - corrupted

    edges, whole = list(found.edges), clean - corrupted
    best = kept(edges)
    if best.mean() / whole.mean() < found.wanted:
        raise UserError(
            f"the circuit of {len(edges)} edges keeps less than {found.wanted:g} of the difference on these trials; use"
            " the trials that it was found on, or a smaller share."
        )
    before = None
    while before != len(edges):
        before = len(edges)
        for edge in reversed(edges.copy()):
            rest = [other for other in edges if other != edge]
            tried = kept(rest)
            if tried.mean() / whole.mean() >= found.wanted:
                edges, best = rest, tried
    return Circuit(tuple(edges), found.wanted, _share(best, whole), None)


Bench = list[tuple[Trials, EdgeRun, EdgeRun]]
"""Chunk by chunk: the trials, their clean run, their corrupted run."""


def _bench(model: Hooked, trials: Trials) -> Bench:
    parts = [trials.take(part) for part in chunks(len(trials))]
    return [(some, *twin_runs(model, some, "noise")) for some in parts]


def _margins(model: Hooked, bench: Bench, corrupted: Sequence[Edge]) -> np.ndarray:
    """Margin of every trial with `corrupted` carrying the corrupted run's messages."""
    rows = [read(edge_logits(model, clean, dirty.messages, corrupted), some)["margin"] for some, clean, dirty in bench]
    return np.concatenate(rows)


def _ends(bench: Bench) -> tuple[np.ndarray, np.ndarray]:
    """Margins of the clean and of the corrupted runs."""
    clean = [read(run.logits, some)["margin"] for some, run, _ in bench]
    corrupted = [read(run.logits, some)["margin"] for some, _, run in bench]
    return np.concatenate(clean), np.concatenate(corrupted)


def _share(kept: np.ndarray, whole: np.ndarray) -> Estimate:
    """The share of one circuit with Fieller's interval."""
    return ratio_of_means(kept, whole, unit="share of the difference", over="trials")


def jaccard(a: Iterable[Edge], b: Iterable[Edge]) -> float:
    """Edges that two circuits share, of all that either has; 1 for two empty circuits."""
    first, second = set(a), set(b)
    return len(first & second) / len(first | second) if first | second else 1.0


def membership(circuits: dict[str, Circuit], edges: Sequence[Edge]) -> xr.DataArray:
    """Whether an edge belongs to each circuit, dims (quantity, edge); with `below` and `above` also `difference`.

    The difference holds the edges of either.
    """
    rows = {name: np.array([edge in set(kept.edges) for edge in edges]) for name, kept in circuits.items()}
    if {"below", "above"} <= rows.keys():
        rows["difference"] = rows["below"] | rows["above"]
    return xr.DataArray(np.stack(list(rows.values())), {QUANTITY: list(rows), **edge_coords(edges)}, (QUANTITY, "edge"))
