"""What a report is made from: a run's results, and the numbers that several chapters share, each made once.

No arithmetic: every number comes from `comparison/` or `statistics/`, or stands in a file of the run. Results that a
run need not have (direct attribution, attention, maps by position, a calibration grid, everything that looks for the
memory) are simply absent here, and their chapters are left out.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import xarray as xr

from hyst_interp.analysis.replicates import over_seeds
from hyst_interp.claims import Row
from hyst_interp.config import StudyConfig
from hyst_interp.config.study import PRESETS
from hyst_interp.errors import UserError
from hyst_interp.questions.attenuation.summary import ReplacementRow, replacement_gap, replacement_rows
from hyst_interp.questions.edges.graph import Graph
from hyst_interp.questions.edges.summary import KindRow, Renaming, kind_rows, renaming
from hyst_interp.questions.gap.gap_phases import Phase, phases
from hyst_interp.questions.gap.measure import gap
from hyst_interp.questions.gap.relaxation import Peak, gap_curve, peak, per_seed, relaxed
from hyst_interp.questions.information.summary import InformationRow, information_rows
from hyst_interp.questions.shapley.summary import ShapleyRow, place_rows, shapley_rows
from hyst_interp.questions.similarity.engagement import Engagement, engagement
from hyst_interp.questions.similarity.similarity_over_seeds import Likeness, likeness
from hyst_interp.questions.transplant.summary import TransplantRow, transplant_rows
from hyst_interp.questions.weights.measure import MoveRow, move_rows
from hyst_interp.statistics import Equivalence, Estimate
from hyst_interp.storage.results import read_all, read_results
from hyst_interp.storage.run import Run

CLAIMS = "claims.json"
SITES = ("resid_pre", "result", "mlp_out")
POSITION_SITES = ("resid_pre", "result")
PARTS = ("margin", "contextual_part", "fixed_part")
GAMES = ("donor", "own-mean")
CALIBRATION = PRESETS / "paper-calibration.nc"


@dataclass(frozen=True)
class Apart:
    """The claims judged on the paper's number of seeds, where the run has more."""

    seeds: tuple[int, ...]
    rows: list[Row]


@dataclass(frozen=True)
class Replaced:
    """What replacing components did at one hold."""

    gap: Estimate
    rows: list[ReplacementRow]


@dataclass(frozen=True)
class Source:
    """A run as its report sees it; arrays have named dims, numbers are estimates over seeds."""

    study: StudyConfig
    run: Run
    results: dict[str, xr.Dataset]
    rows: list[Row]
    apart: Apart | None
    grid: xr.Dataset | None
    """The calibration grid that the preset was chosen from."""

    def row(self, key: str) -> Row | None:
        """A claim by its key."""
        return next((row for row in self.rows if row.key == key), None)

    @property
    def last_hold(self) -> int:
        """The latest hold of the study."""
        return self.study.holds[-1]

    @cached_property
    def curve(self) -> xr.DataArray:
        """Gap (seed, position), with the study's holds in `attrs`."""
        return gap_curve(self.results["trajectory"]).assign_attrs(holds=list(self.study.holds))

    @cached_property
    def peak(self) -> Peak:
        """Peak |gap| of the mean curve after the last update at p ≠ p0."""
        return peak(self.curve)

    @cached_property
    def relaxed(self) -> Equivalence:
        """The equivalence test at the last hold."""
        return relaxed(self.parts["margin"].sel(hold=self.last_hold).values, self.peak.gap)

    @cached_property
    def phases(self) -> list[Phase]:
        """Lag, overshoot, and ring-down, as far as the mean curve has them beyond the margin of "has relaxed"."""
        return phases(self.curve, self.relaxed.margin)

    @cached_property
    def gaps(self) -> xr.DataArray:
        """Gap (seed, order, hold)."""
        return gap(self.results["behaviour"]).mean("trial")

    @cached_property
    def parts(self) -> dict[str, xr.DataArray]:
        """Quantity → its gap (seed, hold)."""
        return {name: per_seed(gap(self.results["behaviour"], name)) for name in PARTS}

    @cached_property
    def replaced(self) -> dict[int, Replaced]:
        """Hold → replacements."""
        return {
            hold: Replaced(replacement_gap(found), replacement_rows(found))
            for hold in self.study.holds
            if (found := self.results.get(f"attenuation-hold-{hold:03d}")) is not None
        }

    @cached_property
    def patching(self) -> dict[tuple[str, str], xr.Dataset]:
        """(site, axis) → effects averaged over trials (seed, order, branch, twin, …)."""
        found = {(site, "role"): self.results.get(f"patching-{site}") for site in SITES}
        found |= {(site, "position"): self.results.get(f"patching-position-{site}") for site in POSITION_SITES}
        whole = [((site, axis), one) for (site, axis), one in found.items() if one is not None]
        return {key: one.mean("trial", keep_attrs=True) if "trial" in one.dims else one for key, one in whole}

    @cached_property
    def likeness(self) -> dict[tuple[str, str], Likeness]:
        """(site, axis) → every comparison of its maps."""
        return {key: likeness(found) for key, found in self.patching.items()}

    @cached_property
    def engagement(self) -> dict[tuple[str, str], Engagement]:
        """(site, axis) → similarity and gain."""
        return {key: engagement(found, key[1]) for key, found in self.likeness.items()}

    @cached_property
    def transplanted(self) -> list[TransplantRow]:
        """Parts of the gap by updates after an optimizer transplant; none where there was no transplant."""
        found = self.results.get("transplant")
        return [] if found is None else transplant_rows(found)

    @cached_property
    def moves(self) -> list[MoveRow]:
        """What moving groups of weights moves; none where none were moved."""
        found = self.results.get("weights")
        return [] if found is None else move_rows(found)

    @cached_property
    def games(self) -> dict[str, list[ShapleyRow]]:
        """Game → its Shapley values, a row a player and one for the sum."""
        found = {game: self.results.get(f"shapley-{game}") for game in GAMES}
        return {game: shapley_rows(one) for game, one in found.items() if one is not None}

    @cached_property
    def places(self) -> list[ShapleyRow]:
        """The donor game's values by place, heads of a layer together; none where it was not played."""
        found = self.results.get("shapley-donor")
        return [] if found is None else place_rows(found)

    @cached_property
    def information(self) -> list[InformationRow]:
        """Mean and input-dependent parts by estimator, with verdicts; none where they were not taken apart."""
        found = self.results.get("information")
        return [] if found is None else information_rows(found)

    @cached_property
    def graph(self) -> Graph:
        """Nodes and edges of the study's model."""
        return Graph(self.study.model.n_layers, self.study.model.n_heads, bool(self.study.model.d_mlp))

    @cached_property
    def renaming(self) -> Renaming:
        """Seed → its edges under the names of the first seed's heads; only where edges were patched."""
        return renaming(self.results["routes"]["effect"], self.graph)

    @cached_property
    def edge_kinds(self) -> list[KindRow]:
        """What kinds of edges move of the gap; none where edges were not patched."""
        found = self.results.get("routes-gap")
        return [] if found is None else kind_rows(found)


def find(study: StudyConfig, root: Path) -> Source:
    """Read a run; UserError where a result that every run has is missing."""
    run = Run(root)
    results = read_all(run.results)
    for name in ("behaviour", "trajectory"):
        if name not in results:
            raise UserError(f"results lack {name}.nc; finish the run with 'hyst-interp reproduce --resume'.")
    if "anchors" not in results:
        results["anchors"] = _anchors(run, study.seeds)
    return Source(study, run, results, *_claims(run.results / CLAIMS), _grid(study))


def at_holds(values: xr.DataArray) -> dict[int, Estimate]:
    """Hold → estimate over seeds of an array (seed, hold)."""
    return {int(hold): over_seeds(values.sel(hold=hold, drop=True)) for hold in values["hold"].values}


def number_of(value: str | int | Estimate) -> Estimate:
    """The estimate in a cell of a replacement row; TypeError for its texts."""
    if not isinstance(value, Estimate):
        raise TypeError(f"'{value}' is no estimate")
    return value


def _claims(path: Path) -> tuple[list[Row], Apart | None]:
    try:
        content = json.loads(path.read_text("utf-8"))
        rows = [Row.from_dict(row) for row in content["rows"]]
        some = content.get("apart")
        apart = Apart(tuple(some["seeds"]), [Row.from_dict(row) for row in some["rows"]]) if some else None
    except (OSError, ValueError, KeyError):
        raise UserError(
            f"'{path}' is missing or cannot be read; finish the run with 'hyst-interp reproduce --resume'."
        ) from None
    return rows, apart


def _grid(study: StudyConfig) -> xr.Dataset | None:
    """The calibration grid, for the study that was chosen from it."""
    return read_results(CALIBRATION) if study.name == "paper" and CALIBRATION.is_file() else None


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
