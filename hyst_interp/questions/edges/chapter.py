"""On which route: every edge patched exactly, circuits at a chosen faithfulness, and attribution held against both."""

import numpy as np
import xarray as xr

from hyst_interp.analysis.exchange import logits_moved
from hyst_interp.analysis.replicates import over_seeds
from hyst_interp.analysis.summary import per_seed
from hyst_interp.questions.edges import of_run as edges_of_run
from hyst_interp.questions.edges.attribution_figure import attribution_dots
from hyst_interp.questions.edges.attribution_summary import UNITS, attribution_rows, one_seed, settling, usual_steps
from hyst_interp.questions.edges.circuit_summary import (
    circuit_rows,
    ends,
    faithfulness_bands,
    members,
    overlap_rows,
    typical,
)
from hyst_interp.questions.edges.edge_circuits import FAITHFULNESS
from hyst_interp.questions.edges.edge_similarity import likeness_of_edges
from hyst_interp.questions.edges.faithfulness_figure import faithfulness_curves
from hyst_interp.questions.edges.figure import route_graph
from hyst_interp.questions.edges.map_figure import edge_map
from hyst_interp.questions.edges.summary import gap_edge_table, twin_table
from hyst_interp.questions.similarity.similarity_over_seeds import Likeness
from hyst_interp.report.answers import UNDETERMINED, carriers
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import blanks, correlation, estimate, listed, method, number, reason, size
from hyst_interp.statistics import Estimate

DRAWN, LISTED = 32, 12
"""Edges of the gap that the graph draws, and that the table lists, the largest first."""
CHANGED = {"value": "the contextual answer", "rename": "the fixed answer"}


def chapter(source: RunResults) -> Chapter | None:
    """Left out where no edges were patched."""
    if "routes" not in source.results or "routes-gap" not in source.results:
        return None
    gap = over_seeds(per_seed(logits_moved(source.results["routes-gap"])["gap"]))
    edges = gap_edge_table(
        source.results["routes-gap"], source.once(edges_of_run.names), source.once(edges_of_run.graph)
    )
    twins = [str(twin) for twin in source.results["routes"]["twin"].values]
    drawn = [_gap_graph(source, edges, gap), _gap_map(edges, gap)]
    tables = {"kinds": _kinds(source, gap), "edges": _edges(edges), "likeness": _likeness(source, twins)}
    there = carriers([(str(row["kind"]), row["moved"]) for row in source.once(edges_of_run.edge_kinds)], gap)
    words = {
        "edges": edges.sizes["edge"],
        "gap": gap,
        "carriers": listed([f"{name} ({estimate(one)})" for name, one in there[:3]]),
        "further": max(len(there) - 3, 0),
        "first": source.study.seeds[0],
        "seeds": len(source.study.seeds),
        "twins": [f"routes-{twin}" for twin in twins],
        "ends": None,
    }
    inside = None
    if "circuits" in source.results:
        found = source.results["circuits"]
        inside = members(found, source.once(edges_of_run.names), source.once(edges_of_run.graph))
        drawn.append(_curves(found))
        tables |= {"circuits": _circuits(found), "overlap": _overlap(inside)}
        words["ends"] = tuple(size(one) for one in ends(found))
    drawn += [_twin_graph(source, twin, inside) for twin in twins]
    if "attribution" in source.results:
        drawn.append(_attribution(source, twins[0]))
        tables["attribution"] = _steps(source.results["attribution"])
    return Chapter("edges", "On which route", "Routes", tables, drawn, words)


def _largest(effect: xr.DataArray, count: int) -> np.ndarray:
    """Places of the largest effects, the largest first."""
    return np.argsort(-np.abs(effect.values), kind="stable")[:count]


def _gap_graph(source: RunResults, edges: xr.Dataset, gap: Estimate) -> Figure:
    shown = edges.sel(history=["moved", "interaction"])
    chosen = np.zeros(edges.sizes["edge"], dtype=bool)
    chosen[_largest(edges["effect"].sel(history="moved"), DRAWN)] = True
    table = shown.assign(member=(("history", "edge"), np.stack([chosen, chosen])))
    return both(
        "routes-gap",
        lambda stacked: route_graph(table.assign_attrs(title="The gap, edge by edge"), stacked),
        "Logits of the gap that move when one edge carries what the other history’s source writes, the"
        f" {int(chosen.sum())}"
        f" largest of {edges.sizes['edge']} edges; mean over seeds{_matched(source)}. On the right half the"
        " difference of"
        f" the two directions, on its own scale. The whole gap is {estimate(gap)} logits; single edges need not add up"
        " to it.",
    )


def _gap_map(edges: xr.Dataset, gap: Estimate) -> Figure:
    table = edges.sel(history=["moved", "interaction"]).assign_attrs(title="The gap, every edge")
    return both(
        "edge-map-gap",
        lambda stacked: edge_map(table, stacked),
        "The same for every edge: what writes, down; what reads, across (a head by its query, key, and value). Blank"
        f" where there is no edge. Intervals on hover: {method(gap)}.",
    )


def _matched(source: RunResults) -> str:
    if len(source.study.seeds) < 2:
        return ""
    return f", heads of other seeds matched within layers to those of seed {source.study.seeds[0]}"


def _twin_graph(source: RunResults, twin: str, inside: xr.DataArray | None) -> Figure:
    table = twin_table(source.results["routes"], twin, source.once(edges_of_run.names), source.once(edges_of_run.graph))
    told = "edges above 3 % of the largest effect"
    if inside is not None:
        belongs = typical(inside).sel(twin=twin, history=table["history"].values)
        table = table.assign(member=(("history", "edge"), belongs.transpose("history", "edge").values))
        told = f"edges that belong to at least half of the circuits that keep {FAITHFULNESS:g} of the answer"
    changed = CHANGED.get(twin, "the answer")
    words = {"title": f"The circuit of {changed} ({twin} twin)"}
    return both(
        f"routes-{twin}",
        lambda stacked: route_graph(table.assign_attrs(words), stacked),
        "Effect on the margin of one edge carrying the corrupted run’s message, where the corruption changes"
        f" {changed};"
        f" {told}; means over seeds{_matched(source)}. Dotted in the difference: in the circuit of one history only."
        " The difference has its own scale.",
    )


def _kinds(source: RunResults, gap: Estimate) -> Table:
    rows = source.once(edges_of_run.edge_kinds)
    lines = []
    for row in rows:
        share = row["share"]
        lines.append(
            cells(
                Cell(str(row["kind"]), kind="lead"),
                str(row["edges"]),
                estimate(row["moved"]),
                estimate(share),
                *(estimate(row[name]) for name in ("into_below", "into_above")),
            )
        )
    head = ("route", "edges", "logits moved", "share of the gap", "from above into below", "from below into above")
    note = (
        f"Sums over single edges of a kind, which needs no numbering of heads. Gap: {estimate(gap)} logits. Intervals:"
        f" {method(gap)}, not corrected for {len(rows)} kinds. What an edge moves, edges after it hand on: sums over"
        " routes of different depth count the same logits more than once."
    )
    return Table("The gap by kind of route", head, lines, (note, *blanks(row["share"] for row in rows)))


def _edges(edges: xr.Dataset) -> Table:
    lines = []
    for at in _largest(edges["effect"].sel(history="moved"), LISTED):
        names = ("moved", "into_below", "into_above", "interaction")
        lines.append(
            cells(Cell(str(edges["edge"].values[at]), kind="lead"), *(_cell(edges, name, int(at)) for name in names))
        )
    head = ("edge", "logits moved", "from above into below", "from below into above", "interaction")
    note = (
        f"The {len(lines)} largest of {edges.sizes['edge']} by their mean: chosen for being large, so their intervals"
        " are too good."
    )
    return Table("Edges that move most of the gap", head, lines, (note,))


def _cell(edges: xr.Dataset, history: str, at: int) -> str:
    one = edges.sel(history=history).isel(edge=at)
    value, low, high = (float(one[name]) for name in ("effect", "low", "high"))
    if low != low:
        return f"{number(value)} (no interval)"
    return f"{number(value)} [{number(low)}, {number(high)}]"


def _likeness(source: RunResults, twins: list[str]) -> Table:
    lines = []
    for twin in twins:
        effect = source.results["routes"]["effect"].sel(twin=twin, drop=True)
        wide = effect.astype("float64").mean("trial") if "trial" in effect.dims else effect
        alike = likeness_of_edges(wide, source.once(edges_of_run.graph))
        between, siblings = (estimate(alike.distance(kind)) for kind in ("histories", "ceiling"))
        lines.append(
            cells(
                Cell(f"{twin} twin", f"{alike.cells} free edges", "lead"),
                estimate(alike.correlation("histories")),
                estimate(alike.correlation("ceiling")),
                _floor(alike),
                Cell(between, f"siblings {siblings}"),
            )
        )
    head = (
        "maps of edges",
        "the histories, r",
        "ceiling (siblings), r",
        "floor (other seeds), r",
        "distance in logits",
    )
    note = (
        "Pearson r of exact effects over edges that are not 0 by construction, a seed’s map averaged over data orders;"
        " correlations on Fisher’s z. Floor: like branches of other seeds, heads matched within layers."
    )
    return Table("One circuit? Maps of edges between ceiling and floor", head, lines, (note,))


def _floor(alike: Likeness) -> Cell:
    mean = alike.correlation("floor")
    known = [s.pearson for by_seed in alike.found["floor"].values() for s in by_seed if s.pearson is not None]
    if mean.estimate is None or not known:
        return Cell("undefined", reason(mean))
    return Cell(correlation(mean.estimate), f"pairs from {correlation(min(known))} to {correlation(max(known))}")


def _curves(found: xr.Dataset) -> Figure:
    kept, chance = faithfulness_bands(found)
    return both(
        "faithfulness",
        lambda stacked: faithfulness_curves(kept, chance, FAITHFULNESS, stacked),
        "Share of the difference between clean and corrupted that the first edges of a ranking keep when all other"
        " edges"
        " are corrupted; ranked by exact effects on half of the trials, judged on the other half. The floor is the same"
        " for random rankings. Means over seeds; bands: 95 %, Student-t.",
    )


def _circuits(found: xr.Dataset) -> Table:
    lines = [
        cells(
            Cell(f"{row['twin']} twin", kind="lead"),
            *(estimate(row[name], 1) for name in ("below", "above", "difference", "random")),
            _larger(row["difference"]),
        )
        for row in circuit_rows(found)
    ]
    head = ("circuit", "from below, edges", "from above, edges", "difference", "random rankings", "larger circuit")
    note = (
        f"Edges of the smallest prefix of the ranking that keeps {FAITHFULNESS:g} of the difference on trials that the"
        f" ranking did not see, of {found.sizes['edge']} edges; random rankings at the sizes that were measured. A"
        " prefix"
        " is not the smallest circuit of all. Intervals: Student-t over seeds."
    )
    return Table("Circuits at a chosen faithfulness", head, lines, (note,))


def _larger(difference: Estimate) -> str:
    if difference.estimate is None or not difference.excludes(0):
        return UNDETERMINED
    return "from below" if difference.estimate > 0 else "from above"


def _overlap(inside: xr.DataArray) -> Table:
    lines = []
    for row in overlap_rows(inside):
        one = [row[name] for name in ("histories", "ceiling", "floor")]
        told = [Cell(estimate(value), reason(value) if value.estimate is None else "") for value in one]
        lines.append([Cell(f"{row['twin']} twin", kind="lead"), *told])
    head = ("circuits", "the histories share", "ceiling (siblings)", "floor (other seeds)")
    note = "Edges in both circuits, of those in either (Jaccard). Floor: like branches of other seeds, heads matched."
    return Table("Do the histories share a circuit?", head, lines, (note,))


def _attribution(source: RunResults, twin: str) -> Figure:
    found, first = source.results["attribution"], source.study.seeds[0]
    steps = usual_steps(found)
    exact, scores = one_seed(found, first, twin, steps)
    return both(
        "attribution",
        lambda stacked: attribution_dots(exact, scores, settling(found), stacked),
        f"Left, edges of seed {first} ({twin} twin): their score from {steps} gradients (EAP-IG) against their"
        " exact effect on the same trials. Right, by the number of steps and as means over seeds, twins, and histories:"
        " agreement with exact effects, distance to the scores at the most steps, and what the embedding’s edges miss"
        " of"
        " the whole difference, which goes to 0 as steps grow.",
    )


def _steps(found: xr.Dataset) -> Table:
    names = {
        "pearson": "Pearson r",
        "spearman": "Spearman r",
        "slope": "slope",
        "error": "relative error",
        "change": "distance to most steps",
        "incompleteness": "missed of the whole",
    }
    rows = attribution_rows(found)
    there = [name for name in UNITS if name in rows[0]]
    lines = [cells(Cell(str(row["steps"]), kind="lead"), *(estimate(row[name]) for name in there)) for row in rows]
    note = (
        "EAP-IG against exact edge patching, on the same trials; means over seeds. Error: ‖scores − exact‖ / ‖exact‖."
        " One"
        " step is plain edge attribution patching."
    )
    return Table(
        "Attribution by gradients, held against the exact map", ("steps", *(names[n] for n in there)), lines, (note,)
    )
