"""Patching maps of both histories and their difference: both rules, by role and by position."""

import xarray as xr

from hyst_interp.analysis.maps import history_maps
from hyst_interp.plots.heatmap import heatmap
from hyst_interp.questions.patching import of_run as patching_of_run
from hyst_interp.report.blocks import Chapter, Figure, both
from hyst_interp.report.run_results import RunResults

CHANGED = {"value": "the contextual answer", "rename": "the fixed answer"}
SHOWN = ("resid_pre", "result")
"""Sites whose maps stand on the page; others only in the run's directory."""


def chapter(source: RunResults) -> Chapter | None:
    """Left out where the run has no maps."""
    first = source.study.seeds[0]
    drawn = [_figure(name, array, first) for name, array in named_maps(source).items()]
    if not drawn:
        return None

    def stays(one: Figure) -> bool:
        return "mlp_out" not in one.name and ("-seed-" not in one.name or one.name.endswith(f"-seed-{first}"))

    words = {
        "first": first,
        "by_role": [figure.name for figure in drawn if stays(figure) and "position" not in figure.name],
        "by_position": [figure.name for figure in drawn if stays(figure) and "position" in figure.name],
        "further": [figure.name for figure in drawn if not stays(figure)],
    }
    return Chapter("maps", "Where the answer comes from", "Maps", {}, drawn, words)


def named_maps(source: RunResults) -> dict[str, xr.DataArray]:
    """Maps by the name of their figure; a site with heads gets one a seed, for heads have no common numbering."""
    seeds = source.study.seeds
    named: dict[str, xr.DataArray] = {}
    for (site, axis), effects in source.once(patching_of_run.effects).items():
        place = f"position-{site}" if axis == "position" else site
        per_seed = "head" in effects.dims
        for some in [(seed,) for seed in seeds] if per_seed else [seeds]:
            for twin_map in history_maps(effects, some):
                named[f"map-{place}-{twin_map.attrs['twin']}" + (f"-seed-{some[0]}" if per_seed else "")] = twin_map
    # A run of before maps by position of every twin and site has the one map that its figure shows.
    if (
        not any(axis == "position" for _, axis in source.once(patching_of_run.effects))
        and "patching-figure" in source.results
    ):
        effects = source.results["patching-figure"]
        for twin_map in history_maps(effects, seeds[:1] if "head" in effects.dims else seeds):
            named[f"map-position-{twin_map.attrs['twin']}"] = twin_map
    return named


def _figure(name: str, array: xr.DataArray, first: int) -> Figure:
    whose = f"seed {name.rpartition('-')[2]}" if "-seed-" in name else "the mean over seeds"
    if "head" in array.dims and "-seed-" not in name:
        whose = f"seed {first}"
    place = "at every position of the prompt" if "pos" in array.dims else "at all positions of a role together"
    twin = str(array.attrs["twin"])
    caption = (
        f"Raw effect of carrying the clean run into the corrupted one {place}, {whose}. In the {twin} twin"
        f" {CHANGED[twin]} is what the corruption changed. Both histories share one scale; the difference has its own,"
        " and its size against the histories’ scale is what tells engagement from circuit."
    )
    return both(name, lambda stacked: heatmap(array, stacked), caption)
