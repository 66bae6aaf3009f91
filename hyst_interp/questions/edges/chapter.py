"""On which edges: every edge patched exactly, circuits at a chosen faithfulness, and attribution held against both."""

import numpy as np
import xarray as xr

from hyst_interp.analysis.summary import cell, records
from hyst_interp.questions.edges import of_run
from hyst_interp.questions.edges.attribution_figure import attribution_dots
from hyst_interp.questions.edges.attribution_summary import UNITS, attribution_table, one_seed, settling, usual_steps
from hyst_interp.questions.edges.circuit_summary import (
    circuit_table,
    ends,
    faithfulness_tables,
    members,
    overlap_table,
    typical,
)
from hyst_interp.questions.edges.edge_circuits import FAITHFULNESS
from hyst_interp.questions.edges.edge_similarity import edge_similarity_over_seeds
from hyst_interp.questions.edges.faithfulness_figure import faithfulness_curves
from hyst_interp.questions.edges.figure import edge_graph
from hyst_interp.questions.edges.map_figure import edge_map
from hyst_interp.questions.edges.summary import twin_table
from hyst_interp.questions.similarity.similarity_over_seeds import Likeness
from hyst_interp.report.answers import UNDETERMINED, carriers
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import blanks, correlation, estimate, listed, method, reason, size
from hyst_interp.statistics import Estimate

DRAWN, LISTED = 32, 12
"""Edges of the gap that the graph draws, and that the table lists, the largest first."""
CHANGED = {"value": "the contextual answer", "rename": "the fixed answer"}


def chapter(source: RunResults) -> Chapter | None:
    """Left out where no edges were patched."""
    if "routes" not in source.results or "routes-gap" not in source.results:
        return None
    gap, edges = cell(source.once(of_run.gap)), source.once(of_run.gap_edges)
    twins = [str(twin) for twin in source.results["routes"]["twin"].values]
    drawn = [_gap_graph(source, edges, gap), _gap_map(edges, gap)]
    tables = {"kinds": _kinds(source, gap), "edges": _edges(edges), "likeness": _likeness(source, twins)}
    kinds = carriers([(str(row["kind"]), row["moved"]) for row in source.once(of_run.edge_kinds)], gap)
    words = {
        "edges": edges.sizes["edge"],
        "gap": gap,
        "carriers": listed([f"{name} ({estimate(moved)})" for name, moved in kinds[:3]]),
        "further": max(len(kinds) - 3, 0),
        "first": source.study.seeds[0],
        "seeds": len(source.study.seeds),
        "twins": [f"routes-{twin}" for twin in twins],
        "ends": None,
    }
    inside = None
    if "circuits" in source.results:
        judged = source.results["circuits"]
        inside = members(judged, source.once(of_run.names), source.once(of_run.graph))
        drawn.append(_curves(judged))
        tables |= {"circuits": _circuits(judged), "overlap": _overlap(inside)}
        words["ends"] = tuple(size(end) for end in ends(judged))
    drawn += [_twin_graph(source, twin, inside) for twin in twins]
    if "attribution" in source.results:
        table = attribution_table(source.results["attribution"])
        drawn.append(_attribution(source, table, twins[0]))
        tables["attribution"] = _steps(table)
    return Chapter("edges", "On which edges", "Edges", tables, drawn, words)


def _largest(effect: xr.DataArray, count: int) -> np.ndarray:
    """Places of the largest effects, the largest first."""
    return np.argsort(-np.abs(effect.values), kind="stable")[:count]


def _gap_graph(source: RunResults, edges: xr.Dataset, gap: Estimate) -> Figure:
    shown = edges.sel(quantity=["moved", "interaction"])
    chosen = np.zeros(edges.sizes["edge"], dtype=bool)
    chosen[_largest(edges["estimate"].sel(quantity="moved"), DRAWN)] = True
    table = shown.assign(member=(("quantity", "edge"), np.stack([chosen, chosen])))
    return both(
        "routes-gap",
        lambda stacked: edge_graph(table.assign_attrs(title="The gap, edge by edge"), stacked),
        "Logits of the gap that move when one edge carries what the other history’s source writes, the"
        f" {int(chosen.sum())} largest of {edges.sizes['edge']} edges; mean over seeds{_matched(source)}. On the right"
        " half the difference of the two directions, on its own scale. The whole gap is"
        f" {estimate(gap)} logits; single edges need not add up to it.",
    )


def _gap_map(edges: xr.Dataset, gap: Estimate) -> Figure:
    table = edges.sel(quantity=["moved", "interaction"]).assign_attrs(title="The gap, every edge")
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
    table = twin_table(source.results["routes"], twin, source.once(of_run.names), source.once(of_run.graph))
    told = "edges above 3 % of the largest effect"
    if inside is not None:
        belongs = typical(inside).sel(twin=twin, quantity=table["quantity"].values)
        table = table.assign(member=(("quantity", "edge"), belongs.transpose("quantity", "edge").values))
        told = f"edges that belong to at least half of the circuits that keep {FAITHFULNESS:g} of the answer"
    changed = CHANGED.get(twin, "the answer")
    words = {"title": f"The circuit of {changed} ({twin} twin)"}
    return both(
        f"routes-{twin}",
        lambda stacked: edge_graph(table.assign_attrs(words), stacked),
        "Effect on the margin of one edge carrying the corrupted run’s message, where the corruption changes"
        f" {changed}; {told}; means over seeds{_matched(source)}. Dotted in the difference: in the circuit of one"
        " history only. The difference has its own scale.",
    )


def _kinds(source: RunResults, gap: Estimate) -> Table:
    rows = source.once(of_run.edge_kinds)
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
    head = ("kind", "edges", "logits moved", "share of the gap", "from above into below", "from below into above")
    note = (
        f"Sums over single edges of a kind, which needs no numbering of heads. Gap: {estimate(gap)} logits. Intervals:"
        f" {method(gap)}, not corrected for {len(rows)} kinds. What an edge moves, edges after it hand on: sums over"
        " kinds of different depth count the same logits more than once."
    )
    return Table("The gap by kind of edge", head, lines, (note, *blanks(row["share"] for row in rows)))


def _edges(edges: xr.Dataset) -> Table:
    lines = []
    for at in _largest(edges["estimate"].sel(quantity="moved"), LISTED):
        names = ("moved", "into_below", "into_above", "interaction")
        lines.append(
            cells(
                Cell(str(edges["edge"].values[at]), kind="lead"),
                *(estimate(cell(edges.isel(edge=int(at)), quantity=name)) for name in names),
            )
        )
    head = ("edge", "logits moved", "from above into below", "from below into above", "interaction")
    note = (
        f"The {len(lines)} largest of {edges.sizes['edge']} by their mean: chosen for being large, so their intervals"
        " are too good."
    )
    return Table("Edges that move most of the gap", head, lines, (note,))


def _likeness(source: RunResults, twins: list[str]) -> Table:
    lines = []
    for twin in twins:
        effect = source.results["routes"]["effect"].sel(twin=twin, drop=True)
        wide = effect.astype("float64").mean("trial") if "trial" in effect.dims else effect
        alike = edge_similarity_over_seeds(wide, source.once(of_run.graph))
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


def _curves(judged: xr.Dataset) -> Figure:
    kept, chance = faithfulness_tables(judged)
    return both(
        "faithfulness",
        lambda stacked: faithfulness_curves(kept, chance, FAITHFULNESS, stacked),
        "Share of the difference between clean and corrupted that the first edges of a ranking keep when all other"
        " edges"
        " are corrupted; ranked by exact effects on half of the trials, judged on the other half. The floor is the same"
        " for random rankings. Means over seeds; bands: 95 %, Student-t.",
    )


def _circuits(judged: xr.Dataset) -> Table:
    lines = [
        cells(
            Cell(f"{row['twin']} twin", kind="lead"),
            *(estimate(row[name], 1) for name in ("below", "above", "difference", "random")),
            _larger(row["difference"]),
        )
        for row in records(circuit_table(judged))
    ]
    head = ("circuit", "from below, edges", "from above, edges", "difference", "random rankings", "larger circuit")
    note = (
        f"Edges of the smallest prefix of the ranking that keeps {FAITHFULNESS:g} of the difference on trials that the"
        f" ranking did not see, of {judged.sizes['edge']} edges; random rankings at the sizes that were measured. A"
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
    for row in records(overlap_table(inside)):
        overlaps = [row[name] for name in ("histories", "ceiling", "floor")]
        told = [Cell(estimate(value), reason(value) if value.estimate is None else "") for value in overlaps]
        lines.append([Cell(f"{row['twin']} twin", kind="lead"), *told])
    head = ("circuits", "the histories share", "ceiling (siblings)", "floor (other seeds)")
    note = "Edges in both circuits, of those in either (Jaccard). Floor: like branches of other seeds, heads matched."
    return Table("Do the histories share a circuit?", head, lines, (note,))


def _attribution(source: RunResults, table: xr.Dataset, twin: str) -> Figure:
    attributed, first = source.results["attribution"], source.study.seeds[0]
    steps = usual_steps(attributed)
    exact, scores = one_seed(attributed, first, twin, steps)
    settled = settling(table)
    return both(
        "attribution",
        lambda stacked: attribution_dots(exact, scores, settled, stacked),
        f"Left, edges of seed {first} ({twin} twin): their score from {steps} gradients (EAP-IG) against their"
        " exact effect on the same trials. Right, by the number of steps and as means over seeds, twins, and histories:"
        " agreement with exact effects, distance to the scores at the most steps, and what the embedding’s edges miss"
        " of"
        " the whole difference, which goes to 0 as steps grow.",
    )


def _steps(table: xr.Dataset) -> Table:
    names = {
        "pearson": "Pearson r",
        "spearman": "Spearman r",
        "slope": "slope",
        "error": "relative error",
        "change": "distance to most steps",
        "incompleteness": "missed of the whole",
    }
    measured = [name for name in UNITS if name in table["quantity"].values]
    lines = [
        cells(Cell(str(row["steps"]), kind="lead"), *(estimate(row[name]) for name in measured))
        for row in records(table)
    ]
    note = (
        "EAP-IG against exact edge patching, on the same trials; means over seeds. Error: ‖scores − exact‖ / ‖exact‖."
        " One"
        " step is plain edge attribution patching."
    )
    return Table(
        "Attribution by gradients, held against the exact map",
        ("steps", *(names[name] for name in measured)),
        lines,
        (note,),
    )
