"""Mean or information, for one pair.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from functools import partial
from typing import TYPE_CHECKING

import xarray as xr

from hyst_interp.analysis.histories import TWO_NETWORKS, Histories
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.analysis.summary import records
from hyst_interp.questions.information import measure, summary

if TYPE_CHECKING:
    import plotly.graph_objects as go


INFORMATION = (
    Column("estimator", "estimator"),
    Column("components", "components"),
    Column("mean", "mean"),
    Column("information", "information"),
    Column("remainder", "remainder"),
    Column("verdict", "verdict"),
)


DISTANCES = (
    Column("replacement", "replacement"),
    Column("components", "components"),
    Column("answer_mass", "answer mass"),
    Column("divergence", "KL in nats"),
)


def information(pair: Histories, components: str = "each,heads,mlps,all") -> Rows:
    """Mean or information: what of a component's share of the gap is its mean, what depends on the prompt.

    A row an estimator and a set: in logits `whole`, `mean`, `information`, and the `remainder` that says how far
    the two are from adding up; their shares of the gap; `verdict` and `reason`, whether this estimator can be
    trusted for this set, by rules that stand in `summary`. `beside["distances"]` says how far
    every replacement takes the networks from where they were.

    Args:
        components: sets separated by commas, as in `attenuation`.

    Raises:
        UserError: a component that the model lacks, or networks of different shapes.
    """
    measured = measure.information(pair.data, components)
    parts, distances = summary.by_estimator(measured), summary.by_replacement(measured)
    rows = summary.estimator_rows(parts)
    counts = [
        f"{name}: trusted for {sum(row['verdict'] == 'trusted' for row in mine)} of {len(mine)}."
        for name in summary.ESTIMATORS
        if (mine := [row for row in rows if row["estimator"] == name])
    ]
    return Rows(
        rows,
        INFORMATION,
        measured,
        partial(of_information, parts, distances),
        {"distances": Rows(records(distances), DISTANCES)},
        [*counts, TWO_NETWORKS],
    )


def of_information(parts: xr.Dataset, distances: xr.Dataset, stacked: bool = False) -> "go.Figure":
    """Mean and information by moving parts, beside distances and every estimator's verdicts."""
    from hyst_interp.questions.information.figure import information_dots

    return information_dots(parts, distances, stacked=stacked)
