"""Everything that the report says in numbers, gathered from a run's results.

No arithmetic: every number comes from `comparison/` or `statistics/`, or stands in a file of the run.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from hyst_interp.claims import Row
from hyst_interp.comparison.bands import band, over_seeds
from hyst_interp.comparison.courses import branch_margins, mixtures
from hyst_interp.comparison.evidence import dominant, gains
from hyst_interp.comparison.gap import gap
from hyst_interp.comparison.likeness import Likeness, likeness
from hyst_interp.comparison.mean_maps import history_maps
from hyst_interp.comparison.relaxation import Peak, gap_curve, peak, per_seed, relaxed
from hyst_interp.comparison.replacements import ReplacementRow, replacement_gap, replacement_rows
from hyst_interp.comparison.strata import gap_by_stratum, share_by_stratum
from hyst_interp.comparison.topology import DominantHead
from hyst_interp.config import StudyConfig
from hyst_interp.errors import UserError
from hyst_interp.history.schedule import Schedule, exposure_digest, paired_schedules
from hyst_interp.statistics import Equivalence, Estimate
from hyst_interp.storage.manifest import read_manifest
from hyst_interp.storage.results import read_all, read_results
from hyst_interp.storage.run import Run

CLAIMS = "claims.json"
SITES = ("resid_pre", "result", "mlp_out")
PARTS = ("margin", "contextual_part", "fixed_part")


@dataclass(frozen=True)
class Replaced:
    """What replacing components did at one hold."""

    gap: Estimate
    rows: list[ReplacementRow]


@dataclass(frozen=True)
class Findings:
    """A run's results as the report needs them; arrays have named dims, numbers are estimates over seeds."""

    rows: list[Row]
    mixture: xr.DataArray
    """(branch, update)."""
    updates: int
    """Length of a branch's schedule."""
    hashes: dict[str, str]
    """schedule_below, schedule_above, exposure, as the run recorded them."""
    exposed_equally: bool
    """Whether both branches' exposure, hashed again from the configuration, is the recorded one."""
    margins: xr.DataArray
    """(seed, branch, position)."""
    curve: xr.DataArray
    """Gap (seed, position)."""
    peak: Peak
    relaxed: Equivalence
    """The test at the last hold."""
    gaps: xr.DataArray
    """Gap (seed, order, hold)."""
    parts: dict[str, xr.DataArray]
    """Quantity → its gap (seed, hold)."""
    levels: xr.DataArray
    """Mean margin (seed, hold, branch)."""
    strata: dict[str, tuple[float, xr.DataArray]]
    """Stratum → share of the trials, gap (seed, hold)."""
    replaced: dict[int, Replaced]
    """Hold → replacements."""
    maps: dict[str, xr.DataArray]
    """Name of a figure → maps with a leading dim history."""
    likeness: list[Likeness]
    dominant: dict[int, DominantHead]
    gains: dict[str, dict[int, dict[str, dict[str, float | None]]]]
    """Site → seed → twin → slope, difference_ratio."""
    anchors: xr.Dataset
    """(seed, evaluation), and formed_at, last step, age (seed,)."""
    versions: dict[str, str]


def find(study: StudyConfig, root: Path) -> Findings:
    """Read and compare; UserError where a result is missing."""
    run = Run(root)
    results = read_all(run.results)
    behaviour, trajectory = _named(results, "behaviour"), _named(results, "trajectory")
    schedules: dict[str, Schedule] = {str(b): one for b, one in paired_schedules(study.schedule, study.p0).items()}
    curve = gap_curve(trajectory)
    top = peak(curve)
    gaps = gap(behaviour).mean("trial")
    sites = {site: results[f"patching-{site}"] for site in SITES if f"patching-{site}" in results}
    return Findings(
        rows=_rows(run.results / CLAIMS),
        mixture=mixtures(schedules, study.holds[-1]),
        updates=len(schedules["below"]),
        hashes={name: str(trajectory.attrs[name]) for name in ("schedule_below", "schedule_above", "exposure")},
        exposed_equally={exposure_digest(one) for one in schedules.values()} == {str(trajectory.attrs["exposure"])},
        margins=branch_margins(trajectory),
        curve=curve.assign_attrs(holds=list(study.holds)),
        peak=top,
        relaxed=relaxed(per_seed(gaps).sel(hold=study.holds[-1]).values, top.gap),
        gaps=gaps,
        parts={name: per_seed(gap(behaviour, name)) for name in PARTS},
        levels=per_seed(behaviour["margin"].astype("float64")).transpose("seed", "hold", "branch"),
        strata=_strata(behaviour),
        replaced={
            hold: Replaced(replacement_gap(found), replacement_rows(found))
            for hold in study.holds
            if (found := results.get(f"attenuation-hold-{hold:03d}")) is not None
        },
        maps=_maps(results, sites, study.seeds),
        likeness=[likeness(found) for found in sites.values()],
        dominant={seed: dominant(sites["result"], seed) for seed in study.seeds} if "result" in sites else {},
        gains={site: {seed: gains(found, seed) for seed in study.seeds} for site, found in sites.items()},
        anchors=_anchors(run, study.seeds),
        versions=read_manifest(run.anchor(study.seeds[0]))[1].versions,
    )


def margin_band(found: Findings) -> xr.Dataset:
    """Margins over seeds, (branch, position)."""
    return band(found.margins)


def at_holds(values: xr.DataArray) -> dict[int, Estimate]:
    """Hold → estimate over seeds of an array (seed, hold)."""
    return {int(hold): over_seeds(values.sel(hold=hold, drop=True)) for hold in values["hold"].values}


def _named(results: dict[str, xr.Dataset], name: str) -> xr.Dataset:
    if name not in results:
        raise UserError(f"results lack {name}.nc; finish the run with 'hyst-interp reproduce --resume'.")
    return results[name]


def _rows(path: Path) -> list[Row]:
    try:
        return [Row.from_dict(row) for row in json.loads(path.read_text("utf-8"))["rows"]]
    except (OSError, ValueError, KeyError):
        raise UserError(
            f"'{path}' is missing or cannot be read; finish the run with 'hyst-interp reproduce --resume'."
        ) from None


def _strata(behaviour: xr.Dataset) -> dict[str, tuple[float, xr.DataArray]]:
    shares = share_by_stratum(behaviour)
    return {name: (shares[name], values) for name, values in gap_by_stratum(behaviour).items()}


def _maps(
    results: dict[str, xr.Dataset], sites: dict[str, xr.Dataset], seeds: tuple[int, ...]
) -> dict[str, xr.DataArray]:
    """Maps by the name of their figure; a site with heads gets one a seed, for heads have no common numbering."""
    named: dict[str, xr.DataArray] = {}
    if "patching-figure" in results:
        found = results["patching-figure"]
        shown = seeds[:1] if "head" in found.dims else seeds
        for one in history_maps(found, shown):
            named[f"map-position-{one.attrs['twin']}"] = one
    for site, found in sites.items():
        if site == "mlp_out":
            continue
        for some in [(seed,) for seed in seeds] if "head" in found.dims else [seeds]:
            for one in history_maps(found, some):
                tail = f"-seed-{some[0]}" if "head" in found.dims else ""
                named[f"map-{site}-{one.attrs['twin']}{tail}"] = one
    return named


def _anchors(run: Run, seeds: tuple[int, ...]) -> xr.Dataset:
    """Evaluations of every seed's anchor side by side, padded with NaN, with age and step."""
    found = [read_results(run.anchor(seed) / "convergence.nc") for seed in seeds]
    padded = [
        one.reset_coords("step").astype("float64").assign_coords(evaluation=np.arange(one.sizes["evaluation"]))
        for one in found
    ]
    joined = xr.concat(padded, dim="seed", join="outer", combine_attrs="drop").assign_coords(seed=list(seeds))
    facts = {name: ("seed", [int(one.attrs[name]) for one in found]) for name in ("formed_at", "age")}
    last = ("seed", [int(one.attrs["step"]) for one in found])
    return joined.set_coords("step").assign_coords(facts).assign_coords(last_step=last)
