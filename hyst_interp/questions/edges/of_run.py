"""What chapters and notebooks read of a run about its edges, each made once."""

import xarray as xr

from hyst_interp.analysis.exchange import whole_gap
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import records
from hyst_interp.questions.edges.graph import Graph
from hyst_interp.questions.edges.summary import Renaming, kind_table, named_gap_edge_table, renaming
from hyst_interp.report.run_results import RunResults


def graph(run: RunResults) -> Graph:
    """Nodes and edges of the study's model."""
    return Graph(run.study.model.n_layers, run.study.model.n_heads, bool(run.study.model.d_mlp))


def names(run: RunResults) -> Renaming:
    """Seed → its edges under the names of the first seed's heads; only where edges were patched."""
    return renaming(run.results["routes"]["effect"], run.once(graph))


def gap(run: RunResults) -> xr.Dataset:
    """The gap of the networks whose edges were patched, a table of one cell; only where edges were patched."""
    return whole_gap(run.results["routes-gap"])


def gap_edges(run: RunResults) -> xr.Dataset:
    """The table of what every edge moves of the gap, over seeds; only where edges were patched."""
    return named_gap_edge_table(run.results["routes-gap"], run.once(names), run.once(graph))


def edge_kinds(run: RunResults) -> list[Row]:
    """What kinds of edges move of the gap; none where edges were not patched."""
    patched = run.results.get("routes-gap")
    return [] if patched is None else records(kind_table(patched))
