"""Merge what the orders and seeds found into `results/*.nc`, and judge the claims on it."""

import json
from pathlib import Path

import xarray as xr

from hyst_interp.claim_inputs import evidence
from hyst_interp.claims import judge
from hyst_interp.config import StudyConfig
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import anchor_evaluations, read_results, stack, write_results
from hyst_interp.storage.run import Run, write_stage
from hyst_interp.study.plan import Stage, measuring
from hyst_interp.study.train_branch import CLOCKS

CLAIMS = "claims.json"


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results`: one netCDF a quantity with dims (seed, order, …, trial), and `claims.json`."""
    run = Run(root)
    results = {"trajectory": _trajectories(study, run), "anchors": anchor_evaluations(run, study.seeds)}
    for kind, (_, orders) in measuring(study).items():
        if not orders:
            continue
        for path in sorted(run.measured(study.seeds[0], 0, kind).glob("*.nc")):
            # A file that only the first so many orders have is merged over those.
            there = [
                order for order in range(orders) if (run.measured(study.seeds[0], order, kind) / path.name).is_file()
            ]
            results[path.stem] = _merged(study, run, kind, path.name, len(there))
    with new_directory(root / stage.directory) as part:
        for name, dataset in results.items():
            write_results(dataset, part / f"{name}.nc")
        (part / CLAIMS).write_text(json.dumps(_claims(study, results), indent=1, ensure_ascii=False) + "\n", "utf-8")
        write_stage(part, stage.kind, stage.digest)


def _claims(study: StudyConfig, results: dict[str, xr.Dataset]) -> dict:
    """The judged claims of all seeds, and of the first `claims.apart` where there are more."""
    content: dict = {"schema": "hyst-interp/claims/1", "rows": _judged(study, results)}
    if len(study.seeds) > study.claims.apart:
        first = list(study.seeds[: study.claims.apart])
        some = {name: result.sel(seed=first) for name, result in results.items()}
        content["apart"] = {"seeds": first, "rows": _judged(study, some)}
    return content


def _judged(study: StudyConfig, results: dict[str, xr.Dataset]) -> list[dict]:
    return [row.to_dict() for row in judge(evidence(results), study.claims, study.name)]


def _merged(study: StudyConfig, run: Run, kind: str, name: str, orders: int) -> xr.Dataset:
    """One measuring stage's file over seeds and orders; coordinates of trials become (seed, trial)."""
    seeds = []
    for seed in study.seeds:
        parts = [read_results(run.measured(seed, order, kind) / name) for order in range(orders)]
        seeds.append(stack(parts, "order", list(range(orders))))
    trial_coords = [c for c in seeds[0].coords if seeds[0][c].dims == ("trial",) and c != "trial"]
    seeds = [seed_results.reset_coords(trial_coords) for seed_results in seeds]
    return stack(seeds, "seed", list(study.seeds)).set_coords(trial_coords)


def _trajectories(study: StudyConfig, run: Run) -> xr.Dataset:
    """Margins (seed, order, branch, position, trial) and the mixtures (branch, position)."""
    seeds = []
    for seed in study.seeds:
        orders = []
        for order in range(study.orders):
            parts = [read_results(run.branch(seed, order, branch) / "trajectory.nc") for branch in BRANCHES]
            orders.append(stack(parts, "branch", list(BRANCHES)))
        seeds.append(stack(orders, "order", list(range(study.orders))))
    joined = stack(seeds, "seed", list(study.seeds))
    mixture = joined["p"].isel(seed=0, order=0, drop=True)
    first = Run(run.root).branch(study.seeds[0], 0, "below") / "trajectory.nc"
    hashes = {
        f"schedule_{branch}": read_results(run.branch(study.seeds[0], 0, branch) / "trajectory.nc").attrs["schedule"]
        for branch in BRANCHES
    }
    for name, attributes in CLOCKS.items():
        joined[name].attrs = dict(attributes)
    return joined.assign(p=mixture).assign_attrs(hashes, exposure=read_results(first).attrs["exposure"])
