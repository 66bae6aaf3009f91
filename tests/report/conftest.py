"""Planted runs: results of a small study with known effects, written as a run writes them; nothing is trained."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from hyst_interp.claims import judge
from hyst_interp.comparison.evidence import evidence
from hyst_interp.config import SetUp, StudyConfig
from hyst_interp.config.study import load_study
from hyst_interp.history.schedule import exposure_digest, paired_schedules, tau
from hyst_interp.sites import ROLES
from hyst_interp.storage.manifest import Manifest, Provenance, to_text
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import Run, study_text

BRANCHES = ["below", "above"]
TRIALS = 24
GAP = 0.3
"""Planted gap on arrival, in logits; every hold halves it."""


def noise(*shape: int, scale: float = 0.05) -> np.ndarray:
    return np.random.default_rng(len(shape) * 1000 + sum(shape)).normal(0, scale, shape)


def planted_behaviour(study: StudyConfig) -> xr.Dataset:
    dims = ("seed", "order", "hold", "branch", "trial")
    sizes = (len(study.seeds), study.orders, len(study.holds), 2, TRIALS)
    halves = GAP * 0.5 ** np.arange(len(study.holds)) / 2
    margin = noise(*sizes) + (halves[:, None] * np.array([1, -1]))[None, None, :, :, None]
    values = {"margin": margin, "contextual_part": margin / 3, "fixed_part": 2 * margin / 3}
    coords = {"seed": list(study.seeds), "order": list(range(study.orders)), "hold": list(study.holds)}
    facts = np.tile(np.arange(TRIALS) % 3, (len(study.seeds), 1))
    found = xr.Dataset({name: (dims, array.astype("float32")) for name, array in values.items()}, coords)
    return found.assign_coords(
        branch=BRANCHES,
        contextual_count=(("seed", "trial"), 1 + (facts == 1)),
        fixed_present=(("seed", "trial"), (facts == 0).astype("int8")),
    )


def planted_trajectory(study: StudyConfig) -> xr.Dataset:
    schedules = paired_schedules(study.schedule, study.p0)
    length, last = len(schedules["below"]), study.holds[-1]
    position = np.array([*range(0, length, study.behaviour.every), *range(length, length + last + 1, 5)])
    mixture = {
        name: np.concatenate([[study.p0], one.p, np.full(last, study.p0)])[position] for name, one in schedules.items()
    }
    p = np.stack([mixture[name] for name in ("below", "above")])
    clock = tau(np.concatenate([schedules["below"].p, np.full(last, study.p0)]), study.p0)[position]
    sizes = (len(study.seeds), study.orders, 2, len(position), TRIALS)
    margin = noise(*sizes) + (0.9 * np.log(p / (1 - p)))[None, None, :, :, None]
    margin[:, :, 0] += GAP / 2
    hold = np.where(position >= length, position - length, np.nan).astype(float)
    return xr.Dataset(
        {
            "margin": (("seed", "order", "branch", "position", "trial"), margin.astype("float32")),
            "p": (("branch", "position"), p),
        },
        {
            "seed": list(study.seeds),
            "order": list(range(study.orders)),
            "branch": BRANCHES,
            "position": position,
            "tau": ("position", clock),
            "hold": ("position", hold),
        },
        {
            "schedule_below": schedules["below"].digest(),
            "schedule_above": schedules["above"].digest(),
            "exposure": exposure_digest(schedules["below"]),
        },
    )


def planted_attenuation(study: StudyConfig, later: bool) -> xr.Dataset:
    """Replacing the heads takes 80 % of the gap away, anything else nothing."""
    sets = {"own-mean": ["heads"], "donor": ["heads"]} if later else {"own-mean": ["L0H0", "heads"], "donor": ["heads"]}
    rows = [(reference, one) for reference, names in sets.items() for one in names]
    side = np.array([1, -1])[:, None] * GAP / 2
    margin = noise(len(study.seeds), study.orders, 2, TRIALS, scale=0.01) + side
    left = np.array([0.2 if name == "heads" else 1.0 for _, name in rows])
    after = np.stack([margin * share for share in left], axis=2)
    mass = np.full(after.shape, 0.9)
    dims = ("seed", "order", "row", "branch", "trial")
    return xr.Dataset(
        {
            "margin": (("seed", "order", "branch", "trial"), margin.astype("float32")),
            "margin_after": (dims, after.astype("float32")),
            "answer_mass": (dims, mass.astype("float32")),
        },
        {
            "seed": list(study.seeds),
            "order": list(range(study.orders)),
            "branch": BRANCHES,
            "components": ("row", [name for _, name in rows]),
            "reference": ("row", [reference for reference, _ in rows]),
        },
    )


def planted_patching(study: StudyConfig, site: str, place: str) -> xr.Dataset:
    """Raw effects whose map from above is 1.1 times the one from below, with a little of a seed's own."""
    labels = list(ROLES) if place == "role" else ["k1", "v1", "k2", "v2", "q"]
    coords: dict = {"layer": list(range(3 if site == "resid_pre" else 2))}
    coords |= {"head": [0, 1]} if site == "result" else {}
    coords |= {place: labels}
    shape = tuple(len(values) for values in coords.values())
    twins = list(study.patching.twins[: 1 if place == "pos" else None])
    orders = 1 if place == "pos" else study.patching.orders
    size = (len(study.seeds), orders, 2, len(twins), *shape, TRIALS)
    base = np.sin(1 + np.arange(np.prod(shape)).reshape(shape)) * 3
    effect = noise(*size) + (np.array([1, 1.1])[:, None] * base.ravel()).reshape(2, 1, *shape, 1)
    whole = np.broadcast_to(np.array([4.0, 4.4])[:, None, None], (*size[:4], TRIALS))
    heads = ("seed", "order", "branch", "twin")
    return xr.Dataset(
        {
            "effect": ((*heads, *coords, "trial"), effect.astype("float32")),
            "base": ((*heads, "trial"), np.zeros((*size[:4], TRIALS), "float32")),
            "donor": ((*heads, "trial"), whole.astype("float32")),
        },
        {"seed": list(study.seeds), "order": list(range(orders)), "branch": BRANCHES, "twin": twins, **coords},
        {"site": site, "direction": "denoise", "axis": "role" if place == "role" else "position"},
    )


def plant_anchor(study: StudyConfig, directory: Path, seed: int) -> None:
    directory.mkdir(parents=True)
    steps = 50 * np.arange(1, 8 + seed % 2)
    columns = {name: ("evaluation", 1 - 20 / steps) for name in ("margin", "p_contextual", "answer_mass")}
    attrs = {"formed_at": 150, "step": int(steps[-1]), "age": int(steps[-1]) - 150}
    write_results(xr.Dataset(columns, {"step": ("evaluation", steps)}, attrs), directory / "convergence.nc")
    setup = SetUp(seed=seed, p0=study.p0, task=study.task, model=study.model, training=study.training)
    manifest = Manifest(
        setup=setup,
        provenance=Provenance(step=int(steps[-1]), formed_at=150),
        state="0" * 64,
        weights="0" * 64,
        streams={},
        files={},
        versions={"numpy": "1.2.3", "torch": "4.5.6"},
    )
    (directory / "checkpoint.json").write_text(to_text(manifest), "utf-8")


def plant_run(root: Path, **changes) -> StudyConfig:
    """A run directory of the `tiny` study with `changes`, whole but for its report."""
    study = load_study("tiny").replace(**changes)
    run = Run(root)
    root.mkdir(parents=True)
    (root / "study.toml").write_text(study_text(study), "utf-8")
    results = {"behaviour": planted_behaviour(study), "trajectory": planted_trajectory(study)}
    for hold in study.holds:
        results[f"attenuation-hold-{hold:03d}"] = planted_attenuation(study, later=hold > 0)
    for site in study.patching.sites:
        results[f"patching-{site}"] = planted_patching(study, site, "role")
    results["patching-figure"] = planted_patching(study, "resid_pre", "pos")
    for name, dataset in results.items():
        write_results(dataset, run.results / f"{name}.nc")
    rows = judge(evidence(results), study.claims, study.name)
    content = {"schema": "hyst-interp/claims/1", "rows": [row.to_dict() for row in rows]}
    (run.results / "claims.json").write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    for seed in study.seeds:
        plant_anchor(study, run.anchor(seed), seed)
    return study


@pytest.fixture(scope="session")
def planted_run(tmp_path_factory) -> Callable[..., tuple[StudyConfig, Path]]:
    """`planted_run(**changes)`: a study and its run directory, made once for equal changes."""
    made: dict[str, tuple[StudyConfig, Path]] = {}

    def make(**changes) -> tuple[StudyConfig, Path]:
        key = json.dumps(changes, sort_keys=True)
        if key not in made:
            root = tmp_path_factory.mktemp("planted") / "run"
            made[key] = (plant_run(root, **changes), root)
        return made[key]

    return make


@pytest.fixture(scope="session")
def planted_report(planted_run) -> tuple[StudyConfig, Path]:
    """The planted run of two seeds, comparable with the paper, with its report written."""
    from hyst_interp.report.page import write_report

    study, root = planted_run(claims={"comparable": True, "calibrated": ["arrival-gap"]})
    write_report(study, root, "report", "f" * 64)
    return study, root
