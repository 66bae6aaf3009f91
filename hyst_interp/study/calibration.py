"""Choosing the paper preset's schedule, by a rule that looks at neither gap nor attenuation.

The paper does not state its schedule. A grid of schedules is run on calibration seeds (100 and up), and the rule asks
one thing of a cell: do the networks follow the mixture? A cell *follows* when the margins at the peaks of the up- and
of the down-excursions reach 80 % of their log-odds log(p/(1−p)), each on average over seeds and branches. Among the
cells that follow within the budget of updates, the rule takes the most levels (the paper's schedule is triangular: its
mixture changes in small steps), then the largest δ, then the shortest dwell.

The whole grid is kept with the gaps that the rule did not look at, and shown as a specification curve: where in it do
the paper's signs hold? Run it with `python -m hyst_interp.study.calibration` (or `make calibration`); it can be
interrupted and run again.
"""

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hyst_interp.config import ScheduleConfig, StudyConfig
from hyst_interp.config.frozen import digest
from hyst_interp.config.study import load_study
from hyst_interp.study.execute import Listener, execute, process_pool
from hyst_interp.study.plan import RECIPE, Stage, plan

if TYPE_CHECKING:
    import xarray as xr

DELTAS = (0.2, 0.3, 0.4)
STAIRCASES = ((1, 10), (1, 20), (1, 40), (2, 5), (2, 10), (2, 20), (4, 5), (4, 10), (4, 20), (8, 5), (8, 10))
"""(levels, dwell)."""
TRIANGLES = (20, 40, 80)
"""Levels."""
BUDGET = 160
"""Updates of a whole schedule."""
FOLLOWS = 0.8
"""Share of the log-odds that the margins at the peaks must reach."""
SEEDS = (100, 101, 102, 103, 104)


@dataclass(frozen=True)
class Cell:
    """One schedule of the grid."""

    schedule: ScheduleConfig

    @property
    def updates(self) -> int:
        """Updates of the whole schedule."""
        return self.schedule.updates

    @property
    def name(self) -> str:
        """Directory name, such as `staircase-0.4-4x10`."""
        return f"{self.schedule.shape}-{self.schedule.delta:g}-{self.schedule.levels}x{self.schedule.dwell}"


def grid() -> tuple[Cell, ...]:
    """Every cell of the calibration."""
    stairs = [("staircase", levels, dwell) for levels, dwell in STAIRCASES]
    shapes = [*stairs, *(("triangle", levels, 1) for levels in TRIANGLES)]
    return tuple(
        Cell(ScheduleConfig.model_validate({"shape": shape, "delta": delta, "levels": levels, "dwell": dwell}))
        for delta in DELTAS
        for shape, levels, dwell in shapes
    )


def choose(table: "xr.Dataset") -> int:
    """Index of the cell that the rule takes; reads only what was followed, ValueError where nothing follows.

    Args:
        table: dims (cell, seed); `followed_up`, `followed_down` (cell, seed), and the coordinates levels, delta, dwell,
            updates (cell).
    """
    followed = [table[name].mean("seed").values for name in ("followed_up", "followed_down")]
    levels, delta, dwell = (table[name].values for name in ("levels", "delta", "dwell"))
    able = [
        i
        for i in range(table.sizes["cell"])
        if table["updates"].values[i] <= BUDGET and min(share[i] for share in followed) >= FOLLOWS
    ]
    if not able:
        raise ValueError(f"no schedule within {BUDGET} updates reaches {FOLLOWS:.0%} of the log-odds at both peaks")
    return max(able, key=lambda i: (levels[i], delta[i], -dwell[i]))


def studies(seeds: tuple[int, ...]) -> dict[Cell, StudyConfig]:
    """The paper preset with every cell's schedule, one data order, on calibration seeds."""
    paper = load_study("paper")
    changes = {"orders": 1, "patching": paper.patching.to_json() | {"orders": 1}, "seeds": list(seeds)}
    return {cell: paper.replace(schedule=cell.schedule.to_json(), **changes) for cell in grid()}


def stages_of(cell: Cell, study: StudyConfig, anchors: dict[int, Stage]) -> tuple[Stage, ...]:
    """One stage a seed: both branches of the cell from that seed's anchor."""
    return tuple(
        Stage(
            "calibrate",
            f"cells/{cell.name}/seed-{seed}",
            digest({"recipe": RECIPE, "anchor": anchors[seed].digest, "schedule": cell.schedule.to_json()}),
            seed=seed,
        )
        for seed in study.seeds
    )


def calibrate(root: Path, workers: int, seeds: tuple[int, ...] = SEEDS, listener: Listener | None = None) -> Path:
    """Run or finish the whole grid in `root`; writes and returns `calibration.nc`."""
    root.mkdir(parents=True, exist_ok=True)
    every = studies(seeds)
    first = next(iter(every.values()))
    anchors = {stage.seed: stage for stage in plan(first) if stage.kind == "anchor"}
    with process_pool(workers) as pool:
        execute(first, root, tuple(anchors.values()), pool, listener)
        for cell, study in every.items():
            execute(study, root, stages_of(cell, study, anchors), pool, listener)
    return collect(root, tuple(every), seeds)


def collect(root: Path, cells: tuple[Cell, ...], seeds: tuple[int, ...]) -> Path:
    """Merge the cells into `calibration.nc`, with the rule's choice marked."""
    import numpy as np
    import xarray as xr

    from hyst_interp.storage.results import read_results, write_results

    rows = [
        xr.concat(
            [read_results(root / "cells" / cell.name / f"seed-{seed}" / "cell.nc") for seed in seeds],
            dim="seed",
            combine_attrs="drop",
        )
        for cell in cells
    ]
    schedules = [cell.schedule for cell in cells]
    table = xr.concat(rows, dim="cell").assign_coords(
        seed=list(seeds),
        shape=("cell", [schedule.shape for schedule in schedules]),
        delta=("cell", [schedule.delta for schedule in schedules]),
        levels=("cell", [schedule.levels for schedule in schedules]),
        dwell=("cell", [schedule.dwell for schedule in schedules]),
        updates=("cell", [cell.updates for cell in cells]),
    )
    chosen = np.zeros(len(cells), dtype=np.int8)
    chosen[choose(table)] = 1
    within = np.array([cell.updates <= BUDGET for cell in cells], dtype=np.int8)
    table = table.assign(chosen=("cell", chosen), within_budget=("cell", within))
    write_results(table.assign_attrs(budget=BUDGET, follows=FOLLOWS), root / "calibration.nc")
    return root / "calibration.nc"


def main() -> None:
    """`python -m hyst_interp.study.calibration --out runs/calibration`."""
    parser = argparse.ArgumentParser(description="Choose the paper preset's schedule on calibration seeds.")
    parser.add_argument("--out", type=Path, default=Path("runs/calibration"))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    words = parser.parse_args()
    path = calibrate(words.out, words.workers, listener=lambda event: print(event.stage.directory, file=sys.stderr))
    print(path)


if __name__ == "__main__":
    main()
