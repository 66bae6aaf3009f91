"""EAP-IG against exact effects over seeds: agreement by number of steps, and one seed's edges to draw.

A seed's agreement is its mean over twins, histories, and data orders. Correlations are averaged as they are: what
matters here is how they settle with the number of steps.
"""

import xarray as xr

from hyst_interp.analysis.summary import QUANTITY, join, replicates, summarise
from hyst_interp.questions.edges.edge_attribution import DEFAULT_STEPS

UNITS = {
    "pearson": "correlation",
    "spearman": "correlation",
    "slope": "ratio",
    "error": "ratio",
    "change": "ratio",
    "incompleteness": "ratio",
}
"""Measure of `edge_attribution.convergence` → its unit."""


def attribution_table(attributed: xr.Dataset) -> xr.Dataset:
    """The table of every measure over seeds, dims (quantity, steps).

    Args:
        attributed: `run_measure.attributions` merged over seeds and orders.
    """
    names = [name for name in UNITS if name in attributed]
    return join({name: summarise(replicates(attributed[name]).mean(["twin", "branch"]), UNITS[name]) for name in names})


def settling(table: xr.Dataset) -> xr.Dataset:
    """`attribution_table`'s means as one variable a measure, dims (steps), as `attribution_dots` draws them."""
    return table["estimate"].to_dataset(QUANTITY)


def usual_steps(attributed: xr.Dataset) -> int:
    """`DEFAULT_STEPS` where they were taken, else the most that were."""
    steps = [int(number) for number in attributed["steps"].values]
    return DEFAULT_STEPS if DEFAULT_STEPS in steps else max(steps)


def one_seed(attributed: xr.Dataset, seed: int, twin: str, steps: int) -> tuple[xr.DataArray, xr.DataArray]:
    """Exact effects and scores of one seed's edges, dims (history, edge), means over trials and data orders."""
    own = attributed.sel(seed=seed, twin=twin, drop=True)
    exact, score = own["exact"].mean("order"), own["score"].sel(steps=steps, drop=True).mean("order")
    return tuple(array.rename(branch="history").transpose("history", "edge") for array in (exact, score))  # type: ignore[return-value]
