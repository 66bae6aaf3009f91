"""How the answer, and the difference of two histories, travels from node to node.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import xarray as xr

from hyst_interp.analysis.histories import Histories
from hyst_interp.analysis.pair_data import PairData, evaluation_trials, twin_trials
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.errors import UserError, refuse_unknown
from hyst_interp.questions.edges.edge_attribution import DEFAULT_STEPS, STEPS, agreement, convergence, scores_at
from hyst_interp.questions.edges.edge_circuits import FAITHFULNESS, jaccard, membership
from hyst_interp.questions.edges.measure import edges_of, gap_effects, pair_effects
from hyst_interp.questions.edges.pair_circuits import pair_circuits
from hyst_interp.questions.edges.pair_summary import edge_rows, edge_table, gap_edge_rows, gap_edge_table
from hyst_interp.streams import Stream
from hyst_interp.tasks.trials import Trials

if TYPE_CHECKING:
    import plotly.graph_objects as go


EDGE_TRIALS = 256
"""Conflict trials of edge patching: every edge is a run of its own."""


EDGE_TWINS = ("value", "rename")


UNCORRECTED = "Intervals are over trials of these two networks only, side by side and uncorrected."


EDGES = (
    Column("edge", "edge"),
    Column("below", "from below"),
    Column("above", "from above"),
    Column("difference", "difference"),
)


GAP_EDGES = (
    Column("edge", "edge"),
    Column("moved", "logits moved"),
    Column("share", "share of the gap"),
    Column("into_below", "into below"),
    Column("into_above", "into above"),
)


CIRCUITS = (
    Column("history", "history"),
    Column("size", "edges"),
    Column("faithfulness", "share kept"),
    Column("lasting", "lasting from"),
    Column("floor", "random circuits keep", lambda floor: ", ".join(f"{share:.2f}" for share in floor)),
)


AGREEMENTS = (
    Column("history", "history"),
    Column("steps", "steps"),
    Column("pearson", "Pearson r"),
    Column("spearman", "Spearman r"),
    Column("slope", "slope"),
    Column("error", "relative error"),
    Column("incompleteness", "incompleteness"),
)


def edge_effects(pair: Histories, twin: str = "value", trials: int = EDGE_TRIALS) -> xr.Dataset:
    """The exact effect of every edge in both histories, corrupted into clean, per trial; kept.

    `effect` (branch, edge, trial) in logits, and what else `measure.pair_effects` gives.
    """
    return pair.kept(("edges", twin, trials), lambda: pair_effects(pair.data, _twins(pair, twin, trials)))


def edges(pair: Histories, twin: str = "value", trials: int = EDGE_TRIALS) -> Rows:
    """What every edge carries of the answer: corrupted messages put into the clean run, one edge at a time.

    A row an edge, largest |effect| first: logits of margin that patching it changes, `below`, `above`, and their
    `difference`, paired by trial. `found` is `edge_effects`.

    Args:
        twin: `value` or `rename`.
        trials: conflict trials, from the same stream as the pair's own.

    Raises:
        UserError: an unknown twin, fewer than 4 trials, or a model whose edges cannot be patched.
    """
    effects = edge_effects(pair, twin, trials)
    table = edge_table(effects)
    return Rows(edge_rows(table), EDGES, effects, partial(of_edges, table), notes=[UNCORRECTED])


def gap_edges(pair: Histories, trials: int = EDGE_TRIALS) -> Rows:
    """What every edge carries of the gap: the other history's message on the same trial, in both directions.

    A row an edge, the one that moves most first: in logits `moved` (mean of both directions), `into_below`,
    `into_above`, `interaction`; `share` of the gap. `found` is `measure.gap_effects`.

    Raises:
        UserError: fewer than 4 trials, or a model whose edges cannot be patched.
    """
    patched = gap_effects(_first(pair, trials))
    table = gap_edge_table(patched)
    draw = partial(of_edges, table.sel(quantity=["into_below", "into_above", "moved"]))
    return Rows(gap_edge_rows(table), GAP_EDGES, patched, draw, notes=[UNCORRECTED])


def circuit(
    pair: Histories, twin: str = "value", faithfulness: float = FAITHFULNESS, trials: int = EDGE_TRIALS
) -> Rows:
    """The circuit of each history: the first edges of its ranking that keep a share with all others corrupted.

    Ranked on every other trial, judged on the rest. A row a history: `size`, the `faithfulness` that it keeps with
    its interval, `lasting` (from which size on every larger one keeps the share), `floor` (what random circuits of
    that size keep), and the `circuit` itself with its `edges`. `found` is a table of all edges with `member`.

    Args:
        twin: `value` or `rename`.
        faithfulness: share of the difference between clean and corrupted, above 0 and at most 1.
        trials: conflict trials, at least 4.

    Raises:
        UserError: an unknown twin, a share that is none, too few trials, or a model whose edges cannot be patched.
    """
    if not 0 < faithfulness <= 1:
        raise UserError(f"faithfulness is {faithfulness:g}; use a share above 0 and at most 1.")
    effects = edge_effects(pair, twin, trials)
    stream = Stream("resampling", pair.below.manifest.setup.seed)
    judged = pair_circuits(pair.data, _twins(pair, twin, trials), stream, faithfulness, effects)
    rows = [
        {
            "history": branch,
            "size": len(judged_circuit.circuit),
            "faithfulness": judged_circuit.circuit.faithfulness,
            "lasting": judged_circuit.circuit.lasting,
            "floor": judged_circuit.floor,
            "edges": [str(edge) for edge in judged_circuit.circuit.edges],
            "circuit": judged_circuit.circuit,
        }
        for branch, judged_circuit in judged.items()
    ]
    table = edge_table(effects)
    table = table.assign(
        member=membership({b: judged_circuit.circuit for b, judged_circuit in judged.items()}, edges_of(table))
    )
    shared = jaccard(*(judged_circuit.circuit.edges for judged_circuit in judged.values()))
    first = judged[BRANCHES[0]]
    notes = [
        f"Edges in both, of those in either: {shared:.2f}.",
        f"Ranked on {first.ranked_on} trials, judged on {first.judged_on} others, of these two networks only.",
    ]
    return Rows(rows, CIRCUITS, table.assign_attrs(jaccard=shared), partial(of_edges, table), notes=notes)


def edge_attribution(
    pair: Histories, twin: str = "value", steps: int = DEFAULT_STEPS, trials: int = EDGE_TRIALS
) -> Rows:
    """EAP-IG scores of every edge, and how they agree with the exact effects on the same trials.

    A row a history: `pearson`, `spearman` over edges where either is not 0, `slope` of scores on effects, `error`
    (relative distance), `incompleteness` (how far scores out of the embedding are from their exact sum). `found`
    has `score` (history, steps, edge) and `exact` (history, edge), means in logits, at fewer steps too.

    Args:
        twin: `value` or `rename`.
        steps: points of the path at which gradients are taken, 1 or more.
        trials: conflict trials, at least 4.

    Raises:
        UserError: an unknown twin, fewer steps than one, too few trials, or edges that cannot be told apart.
    """
    if steps < 1:
        raise UserError(f"steps is {steps}; use 1 or more.")
    exact, twins = edge_effects(pair, twin, trials), _twins(pair, twin, trials)
    sides, rows = [], []
    for branch, model in zip(BRANCHES, (pair.data.below, pair.data.above), strict=True):
        mine = exact.sel(branch=branch, drop=True)
        scores = scores_at(model, twins, "noise", sorted({number for number in STEPS if number < steps} | {steps}))
        settled = convergence(scores, mine)
        settled["score"] = scores["effect"].astype("float64").mean("trial").transpose("steps", "edge")
        settled["exact"] = mine["effect"].astype("float64").mean("trial")
        sides.append(settled)
        last = settled.isel(steps=-1)
        rows.append(
            {"history": branch, "steps": steps}
            | agreement(last["score"], settled["exact"])
            | {"incompleteness": float(last["incompleteness"])}
        )
    attributed = xr.concat(sides, "history", combine_attrs="drop_conflicts").assign_coords(history=list(BRANCHES))
    return Rows(rows, AGREEMENTS, attributed, partial(of_attribution, attributed))


def _twins(pair: Histories, twin: str, trials: int) -> Trials:
    refuse_unknown("twin", twin, EDGE_TWINS)
    _refuse_few(trials)
    return twin_trials(pair.below.task, twin, trials, pair.seed)


def _first(pair: Histories, trials: int) -> PairData:
    """The pair on the first so many trials of its stream."""
    _refuse_few(trials)
    return replace(pair.data, trials=evaluation_trials(pair.data.task, trials, pair.seed))


def of_edges(table: xr.Dataset, stacked: bool = False) -> "go.Figure":
    """A table of edges, dims (quantity, edge), drawn between nodes."""
    from hyst_interp.questions.edges.figure import edge_graph

    return edge_graph(table, stacked)


def of_attribution(attributed: xr.Dataset, stacked: bool = False) -> "go.Figure":
    """Scores against exact effects of both histories; how they settle is the mean of the two."""
    from hyst_interp.questions.edges.attribution_figure import attribution_dots

    settling = attributed.drop_vars(["exact", "score"]).mean("history")
    scores = attributed["score"].isel(steps=-1)
    return attribution_dots(attributed["exact"], scores, settling, stacked)


def _refuse_few(trials: int) -> None:
    if trials < 4:
        raise UserError(f"trials is {trials}; use at least 4.")
