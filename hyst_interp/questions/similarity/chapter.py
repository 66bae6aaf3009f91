"""The same circuit, and how strongly engaged: similarity between ceiling and floor, dominant heads, and gain."""

import xarray as xr

from hyst_interp.analysis.summary import estimate_of
from hyst_interp.questions.patching import of_run as patching_of_run
from hyst_interp.questions.similarity import of_run as similarity_of_run
from hyst_interp.questions.similarity.comparisons import dominant, gains
from hyst_interp.questions.similarity.engagement_figure import circuit_and_gain
from hyst_interp.questions.similarity.figure import SITES, similarity_dots
from hyst_interp.questions.similarity.similarity_over_seeds import Likeness
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import correlation, estimate, method, number, reason

PLANE = (("resid_pre", "role"), ("result", "role"))


def chapter(source: RunResults) -> Chapter | None:
    """Left out where the run has no maps."""
    if not source.once(similarity_of_run.comparisons):
        return None
    tables = {"similarity": _similarity(source), "gain": _gain(source)}
    heads = source.results.get("patching-result")
    if heads is not None and "trial" in heads.dims:
        tables["dominant"] = _dominant(source)
    drawn = (
        [_plane(source), _dots(source)]
        if any(key in source.once(similarity_of_run.comparisons) for key in PLANE)
        else [_dots(source)]
    )
    return Chapter("similarity", "The same circuit? How strongly engaged?", "Circuit and gain", tables, drawn)


def _plane(source: RunResults) -> Figure:
    sites = [
        source.once(similarity_of_run.engagements)[key]
        for key in PLANE
        if key in source.once(similarity_of_run.engagements)
    ]
    engaged = [site.gain for site in sites]
    unseen = [site.detectable for site in sites]
    points = [site.points for site in sites]
    read = "; ".join(f"{SITES[site.site]} {estimate(site.gain)}" for site in sites)
    known = "; ".join(f"{SITES[site.site]} ±{number(site.detectable, 3, False)}" for site in sites if site.detectable)
    blind = f" So many seeds see, with power 80 %, a gain off 1 by at least: {known} (shaded)." if known else ""
    return both(
        "engagement",
        lambda stacked: circuit_and_gain(points, engaged, unseen, stacked),
        "Upwards, how alike two raw maps are (which cells matter); across, the slope of one on the other (how much)."
        " Diamonds: from above on from below, one a seed. A circuit that is the same and only engaged otherwise lies"
        f" as high as its siblings and off gain 1. Gain: {read}; intervals: {method(sites[0].gain)}.{blind}",
    )


def _dots(source: RunResults) -> Figure:
    unlike = [
        alike.unlikeness().assign_attrs(axis=axis)
        for (_, axis), alike in source.once(similarity_of_run.comparisons).items()
    ]
    return both(
        "similarity",
        lambda stacked: similarity_dots(unlike, stacked=stacked),
        "Pearson r of the two histories’ maps, both twins joined, one diamond a seed; beside it the ceiling (siblings:"
        " the same branch on other data) and the floor (other seeds). The histories use one circuit as far as their r"
        " lies among its ceiling’s; it says little as far as the floor reaches it. Dashed: the paper’s bound.",
    )


def _similarity(source: RunResults) -> Table:
    rows = []
    for (site, axis), alike in source.once(similarity_of_run.comparisons).items():
        few = " (few cells: no verdict by itself)" if alike.few else ""
        between, ceiling = (estimate(alike.distance(kind)) for kind in ("histories", "ceiling"))
        apart = source.once(similarity_of_run.engagements)[site, axis].siblings_apart
        rows.append(
            cells(
                Cell(f"{SITES[site]}, by {axis}", f"{alike.cells} free cells{few}", "lead"),
                Cell(estimate(alike.correlation("histories")), f"Spearman {_spearman(alike)}"),
                estimate(alike.correlation("ceiling")),
                _floor(alike),
                Cell(estimate(apart), reason(apart)) if apart.estimate is None else Cell(estimate(apart)),
                Cell(between, f"siblings {ceiling}"),
            )
        )
    head = ("site and axis", "the histories, r", "ceiling (siblings), r", "floor (other seeds), r")
    head = (*head, "distance, in distances of siblings", "distance in logits")
    first = next(iter(source.once(similarity_of_run.comparisons).values()))
    text = (
        f"Correlations: {method(first.correlation('histories'))}; a seed’s ceiling is a mean on Fisher’s z. Distance:"
        " ‖map from above − map from below‖ over free cells, of siblings the median; their quotient is a ratio of means"
        " over seeds with Fieller’s interval: 1 means no further apart than two runs of one history. Both twins are"
        " joined; cells that are fixed by construction are left out."
    )
    return Table("Similarity of maps", head, rows, (text,))


def _spearman(alike: Likeness) -> str:
    return correlation(alike.correlation("histories", "spearman").estimate)


def _floor(alike: Likeness) -> Cell:
    """The floor's mean, and the range over pairs of seeds instead of an interval."""
    mean = alike.correlation("floor")
    known = [s.pearson for by_seed in alike.found["floor"].values() for s in by_seed if s.pearson is not None]
    if mean.estimate is None or not known:
        return Cell("undefined", reason(mean))
    return Cell(correlation(mean.estimate), f"pairs from {correlation(min(known))} to {correlation(max(known))}")


def _dominant(source: RunResults) -> Table:
    heads = {seed: dominant(source.results["patching-result"], seed) for seed in source.study.seeds}
    rows = [
        cells(
            Cell(f"seed {seed}", kind="lead"),
            head.a,
            head.b,
            number(head.same_probability, 2, signed=False),
            "tie" if head.tie else "stable",
        )
        for seed, head in heads.items()
    ]
    note = (
        "The head with the largest summed effect over its free cells and both twins. The probability is that both"
        " histories name one head when trials are resampled; “tie” says that one of the two choices is not stable"
        " under it."
    )
    return Table("Dominant head", ("", "from below", "from above", "same, probability", "choice"), rows, (note,))


def _gain(source: RunResults) -> Table:
    seeds = source.study.seeds
    slopes = {
        key[0]: {s: gains(effect, s) for s in seeds}
        for key, effect in source.once(patching_of_run.effects).items()
        if key[1] == "role"
    }
    slopes = slopes or {
        key[0]: {s: gains(effect, s) for s in seeds} for key, effect in source.once(patching_of_run.effects).items()
    }
    lines = [(site, twin, "slope") for site, by_seed in slopes.items() for twin in by_seed[seeds[0]]]
    first = next(iter(slopes))
    lines += [(first, twin, "difference_ratio") for twin in slopes[first][seeds[0]]]
    rows = []
    for site, twin, which in lines:
        values = [slopes[site][seed][twin][which] for seed in seeds]
        whole = f"ratio of (clean − corrupted), {twin} twin"
        name = f"slope, {SITES[site]}, {twin} twin" if which == "slope" else whole
        known = xr.DataArray([value for value in values if value is not None], dims="seed")
        mean = estimate(estimate_of(known, "ratio")) if len(known) == len(values) else "undefined"
        rows.append(cells(Cell(name, kind="lead"), mean, *(number(value, 3, signed=False) for value in values)))
    head = ("", "mean", *(f"seed {seed}" for seed in seeds))
    note = (
        "Gain: slope through the origin of the raw map from above on the one from below, 1 where both histories engage"
        " the circuit alike; and the same for the whole effect. Intervals: Student-t over seeds, 95 %."
    )
    return Table("Gain: how strongly the circuit is engaged", head, rows, (note,))
