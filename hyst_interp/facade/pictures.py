"""Which arrays the figure of a table takes: rows, and where it needs them the gap, in; a plotly figure out."""

from typing import TYPE_CHECKING

import xarray as xr

from hyst_interp.analysis.replicates import as_arrays
from hyst_interp.questions.crossing import layer_swap as prefix_ladder
from hyst_interp.questions.information import summary as information_rows
from hyst_interp.questions.shapley import summary as shapley_rows
from hyst_interp.questions.transplant import summary as transplant_rows
from hyst_interp.questions.weights import measure as weight_moves
from hyst_interp.statistics import Estimate

if TYPE_CHECKING:
    import plotly.graph_objects as go


def of_transplant(found: xr.Dataset, stacked: bool = False) -> "go.Figure":
    """Transplant's Dataset, of one pair or of a run, as curves over updates."""
    from hyst_interp.questions.transplant.figure import transplant_course

    curves = transplant_rows.curves(found)
    return transplant_course(curves, transplant_rows.curve_band(curves), stacked)


def of_weights(rows: list[weight_moves.MoveRow], gap: Estimate, stacked: bool = False) -> "go.Figure":
    """Moves of weights as dots."""
    from hyst_interp.questions.weights.figure import weight_move_dots

    return weight_move_dots(weight_moves.row_arrays(rows), _bare(gap), stacked)


def of_shapley(
    rows: list[shapley_rows.ShapleyRow], pairs: list[shapley_rows.ShapleyRow], game: str, stacked: bool = False
) -> "go.Figure":
    """Players as dumbbells, their pairs beside them where there are any."""
    from hyst_interp.questions.shapley.figure import shapley_dumbbells

    cells = shapley_rows.pair_arrays(pairs) if pairs else None
    return shapley_dumbbells(shapley_rows.player_arrays(rows), shapley_rows.gap_array(rows), cells, game, stacked)


def of_information(
    rows: list[information_rows.InformationRow],
    distances: list[information_rows.InformationRow],
    stacked: bool = False,
) -> "go.Figure":
    """Mean and information by moving parts, beside distances and every estimator's verdicts."""
    from hyst_interp.questions.information.figure import information_dots

    parts, far = information_rows.information_arrays(rows), information_rows.distance_arrays(distances)
    return information_dots(parts, far, stacked=stacked)


def of_ladder(rows: list[prefix_ladder.LadderRow], gap: Estimate, stacked: bool = False) -> "go.Figure":
    """The ladder as steps along the depth."""
    from hyst_interp.questions.crossing.figure import ladder_steps

    return ladder_steps(prefix_ladder.ladder_arrays(rows), _bare(gap), stacked)


def of_edges(table: xr.Dataset, stacked: bool = False) -> "go.Figure":
    """A table of edges, dims (history, edge), as routes between nodes."""
    from hyst_interp.questions.edges.figure import route_graph

    return route_graph(table, stacked)


def of_attribution(found: xr.Dataset, stacked: bool = False) -> "go.Figure":
    """Scores against exact effects of both histories; how they settle is the mean of the two."""
    from hyst_interp.questions.edges.attribution_figure import attribution_dots

    settling = found.drop_vars(["exact", "score"]).mean("history")
    scores = found["score"].isel(steps=-1)
    return attribution_dots(found["exact"], scores, settling, stacked)


def _bare(gap: Estimate) -> xr.Dataset:
    """`estimate`, `low`, `high`, without dims."""
    return as_arrays([gap], "cell").isel(cell=0)
