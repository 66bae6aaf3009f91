"""EAP-IG against exact effects over seeds: agreement by number of steps, and one seed's edges to draw.

A seed's agreement is its mean over twins, histories, and data orders. Correlations are averaged as they are: what
matters here is how they settle with the number of steps.
"""

import xarray as xr

from hyst_interp.analysis.replicates import over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
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


def agreement_by_step(found: xr.Dataset) -> xr.Dataset:
    """Every measure of one seed, dims (seed, steps), from `route_study.attributions` merged over seeds and orders."""
    names = [name for name in UNITS if name in found]
    return xr.Dataset({name: per_seed(found[name].astype("float64")).mean(["twin", "branch"]) for name in names})


def attribution_rows(found: xr.Dataset) -> list[Row]:
    """One row a number of steps: `steps`, and every measure over seeds."""
    values = agreement_by_step(found)
    return [
        {"steps": int(steps)}
        | {str(name): over_seeds(one.sel(steps=steps, drop=True), UNITS[str(name)]) for name, one in values.items()}
        for steps in values["steps"].values
    ]


def settling(found: xr.Dataset) -> xr.Dataset:
    """Every measure's mean over seeds, dims (steps), as `figures.attribution_dots` draws it."""
    return agreement_by_step(found).mean("seed")


def usual_steps(found: xr.Dataset) -> int:
    """`DEFAULT_STEPS` where they were taken, else the most that were."""
    steps = [int(number) for number in found["steps"].values]
    return DEFAULT_STEPS if DEFAULT_STEPS in steps else max(steps)


def one_seed(found: xr.Dataset, seed: int, twin: str, steps: int) -> tuple[xr.DataArray, xr.DataArray]:
    """Exact effects and scores of one seed's edges, dims (history, edge), means over trials and data orders."""
    here = found.sel(seed=seed, twin=twin, drop=True)
    exact, score = here["exact"].mean("order"), here["score"].sel(steps=steps, drop=True).mean("order")
    return tuple(one.rename(branch="history").transpose("history", "edge") for one in (exact, score))  # type: ignore[return-value]
