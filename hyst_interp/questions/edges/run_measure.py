"""Edges of a pair as a study keeps them: effects by twin, circuits by size, and EAP-IG by steps.

A ranking is made on every other trial and judged on the rest, so no circuit is flattered by the trials that chose it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions.edges.edge_attribution import STEPS, convergence, scores_at
from hyst_interp.questions.edges.edge_circuits import faithfulness_curve, random_rankings, ranking, shares
from hyst_interp.questions.edges.edge_forward import graph_of
from hyst_interp.questions.edges.measure import edge_coords, edge_effects, pair_effects
from hyst_interp.streams import Stream
from hyst_interp.tasks.trials import Trials

FLOORS = 3
"""Random rankings that a circuit's size is read against."""
FLOOR_SIZES = 12
"""Sizes at which they are measured."""
ATTRIBUTED = 128
"""Trials that EAP-IG is run on at most."""


def twin_effects(pair: PairData, twins: Mapping[str, Trials]) -> xr.Dataset:
    """Exact effects of every edge, corrupted into clean: `effect` (twin, branch, edge, trial), `base`, `donor`."""
    effects = [pair_effects(pair, trials, "noise")[["effect", "base", "donor"]] for trials in twins.values()]
    return xr.concat(effects, "twin", combine_attrs="drop_conflicts").assign_coords(twin=list(twins))


def circuits(pair: PairData, twins: Mapping[str, Trials], effects: xr.Dataset, stream: Stream) -> xr.Dataset:
    """Faithfulness of the first edges of each ranking, judged on other trials than it was made on.

    `faithfulness` (twin, branch, size) by |effect|; `floor` (twin, branch, ranking, floor_size) of random rankings;
    `rank` (twin, branch, edge), an edge's place in the ranking, from 0.
    """
    graph = graph_of(pair.below)
    sizes = np.unique(np.linspace(0, len(graph.edges), FLOOR_SIZES).round().astype(int))
    shape = (len(twins), len(BRANCHES))
    faithfulness = np.empty((*shape, len(graph.edges) + 1))
    floor = np.empty((*shape, FLOORS, len(sizes)))
    rank = np.empty((*shape, len(graph.edges)), np.int64)
    for i, (twin, trials) in enumerate(twins.items()):
        odd = np.arange(len(trials)) % 2 == 1
        judged = trials.take(~odd)
        for j, (branch, model) in enumerate(zip(BRANCHES, (pair.below, pair.above), strict=True)):
            order = ranking(effects["effect"].sel(twin=twin, branch=branch, drop=True).isel(trial=odd))
            faithfulness[i, j] = shares(faithfulness_curve(model, judged, order)).values
            rank[i, j] = [order.index(edge) for edge in graph.edges]
            for k, other in enumerate(random_rankings(model, stream, FLOORS)):
                floor[i, j, k] = shares(faithfulness_curve(model, judged, other, sizes.tolist())).values
    share = {"units": "share of the difference", "method": "ratio of means over trials that the ranking did not see"}
    dims = ("twin", "branch")
    return xr.Dataset(
        {
            "faithfulness": ((*dims, "size"), faithfulness, share),
            "floor": ((*dims, "ranking", "floor_size"), floor, share),
            "rank": ((*dims, "edge"), rank, {"units": "1", "method": "place by |mean effect|, from 0"}),
        },
        {
            "twin": list(twins),
            "branch": list(BRANCHES),
            "size": np.arange(len(graph.edges) + 1),
            "floor_size": sizes,
            **edge_coords(graph.edges),
        },
    )


def attributions(pair: PairData, twins: Mapping[str, Trials], steps: Sequence[int] = STEPS) -> xr.Dataset:
    """EAP-IG (corrupted into clean) at several numbers of steps against the exact effects on the same trials.

    `score` (twin, branch, steps, edge), means over trials; `exact` (twin, branch, edge); and by steps `change`,
    `incompleteness`, `pearson`, `spearman`, `slope`, `error` (twin, branch, steps) as `edge_attribution.convergence`
    gives them.
    """
    rows = []
    for trials in twins.values():
        some = trials.take(slice(0, ATTRIBUTED))
        sides = []
        for model in (pair.below, pair.above):
            exact = edge_effects(model, some, "noise")
            scores = scores_at(model, some, "noise", steps)
            settled = convergence(scores, exact)
            settled["score"] = scores["effect"].astype("float64").mean("trial")
            settled["exact"] = exact["effect"].astype("float64").mean("trial")
            sides.append(settled)
        rows.append(xr.concat(sides, "branch", combine_attrs="drop_conflicts").assign_coords(branch=list(BRANCHES)))
    return xr.concat(rows, "twin", combine_attrs="drop_conflicts").assign_coords(twin=list(twins))
