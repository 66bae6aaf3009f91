"""What chapters and notebooks read of a run about its edges, each made once."""

from hyst_interp.analysis.rows import Row
from hyst_interp.questions.edges.graph import Graph
from hyst_interp.questions.edges.summary import Renaming, kind_rows, renaming
from hyst_interp.report.run_results import RunResults


def graph(run: RunResults) -> Graph:
    """Nodes and edges of the study's model."""
    return Graph(run.study.model.n_layers, run.study.model.n_heads, bool(run.study.model.d_mlp))


def names(run: RunResults) -> Renaming:
    """Seed → its edges under the names of the first seed's heads; only where edges were patched."""
    return renaming(run.results["routes"]["effect"], run.once(graph))


def edge_kinds(run: RunResults) -> list[Row]:
    """What kinds of edges move of the gap; none where edges were not patched."""
    found = run.results.get("routes-gap")
    return [] if found is None else kind_rows(found)
