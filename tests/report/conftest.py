"""Planted runs: results of a small study with known effects, written as a run writes them; nothing is trained."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from planted_memory import memory_results

from hyst_interp.claim_inputs import evidence
from hyst_interp.claims import judge
from hyst_interp.config import SetUp, StudyConfig
from hyst_interp.config.study import load_study
from hyst_interp.history.schedule import exposure_digest, paired_schedules, tau
from hyst_interp.storage.manifest import Manifest, Provenance, to_text
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import Run, study_text
from hyst_interp.tasks.recall import ROLES

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
    asked = np.arange(TRIALS)[None, :] % (3 + np.arange(len(study.seeds))[:, None] % 2)
    coords = {"seed": list(study.seeds), "order": list(range(study.orders)), "hold": list(study.holds)}
    facts = np.tile(np.arange(TRIALS) % 3, (len(study.seeds), 1))
    found = xr.Dataset({name: (dims, array.astype("float32")) for name, array in values.items()}, coords)
    return found.assign_coords(
        branch=BRANCHES,
        query=(("seed", "trial"), asked),
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


def planted_positions(study: StudyConfig, site: str) -> xr.Dataset:
    """Maps by position of every twin and mapped order, averaged over trials."""
    changed = study.replace(patching={**study.patching.model_dump(), "sites": ["resid_pre", "result"]})
    one = planted_patching(changed, site, "pos").isel(order=0)
    parts = [one.mean("trial", keep_attrs=True) * (1 + 0.01 * i) for i in range(study.patching.orders)]
    both = xr.concat([part.isel(twin=0, drop=True) for part in parts], dim="order")
    twins = list(study.patching.twins)
    joined = xr.concat([both] * len(twins), dim="twin").assign_coords(twin=twins, order=range(study.patching.orders))
    attrs = {"site": site, "direction": "denoise", "axis": "position"}
    return joined.transpose("seed", "order", "branch", "twin", ...).drop_attrs().assign_attrs(attrs)


TERMS = ["embed", "pos", "L0H0", "L0H1", "L1H0", "L1H1", "L0 b_O", "L1 b_O", "L0MLP", "L1MLP", "bias"]


def planted_direct(study: StudyConfig) -> xr.Dataset:
    """L0H0 adds 0.2 to the gap, L1MLP 0.1, the others about nothing; the parts add up."""
    size = (len(study.seeds), study.patching.orders, len(TERMS), 3, TRIALS)
    parts = noise(*size, scale=0.005)
    parts[:, :, TERMS.index("L0H0"), 0] += 0.2
    parts[:, :, TERMS.index("L1MLP"), 1] += 0.1
    above = noise(*size[:3], TRIALS)
    direct = np.stack([above + parts.sum(3), above], axis=2)
    return xr.Dataset(
        {
            "direct": (("seed", "order", "branch", "term", "trial"), direct),
            "split": (("seed", "order", "term", "part", "trial"), parts),
        },
        {
            "seed": list(study.seeds),
            "order": list(range(study.patching.orders)),
            "branch": BRANCHES,
            "term": TERMS,
            "part": ["activation", "readout", "scale"],
        },
    )


def planted_attention(study: StudyConfig) -> xr.Dataset:
    """Every head looks at all roles alike, but L1H1 from below at the value more."""
    shape = (len(study.seeds), study.patching.orders, 2, 2, 2, len(ROLES), TRIALS)
    values = 0.2 + noise(*shape, scale=0.002)
    values[:, :, 0, 1, 1, ROLES.index("its value")] += 0.1
    dims = ("seed", "order", "branch", "layer", "head", "role", "trial")
    coords = {"seed": list(study.seeds), "order": list(range(study.patching.orders)), "branch": BRANCHES}
    coords |= {"layer": [0, 1], "head": [0, 1], "role": list(ROLES)}
    return xr.Dataset({"attention": (dims, values)}, coords)


@pytest.fixture
def planted_grid() -> xr.Dataset:
    """A calibration grid of eight schedules on three seeds; the gap on arrival is above 0 in five."""
    mean = np.linspace(-0.3, 0.4, 8)
    gaps = {
        f"gap_hold_{hold}": (("cell", "seed"), (factor * mean)[:, None] + noise(8, 3, scale=0.005))
        for hold, factor in ((0, 1), (25, -0.5), (100, 0.01))
    }
    columns = {"delta": [0.2, 0.4] * 4, "levels": [1, 2, 4, 8] * 2, "dwell": [5, 10] * 4, "updates": [80] * 8}
    columns |= {"shape": ["staircase"] * 6 + ["triangle"] * 2}
    facts = {"chosen": np.eye(8, dtype="int8")[5], "within_budget": np.ones(8, "int8")}
    facts |= {"followed_up": np.full(8, 0.8), "followed_down": np.full(8, 0.8)}
    coords = {"seed": [100, 101, 102]} | {name: ("cell", values) for name, values in columns.items()}
    return xr.Dataset(gaps | {name: ("cell", values) for name, values in facts.items()}, coords)


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


def plant_run(root: Path, inside: bool = True, apart: int = 0, memory: bool = False, **changes) -> StudyConfig:
    """A run directory of the `tiny` study with `changes`, whole but for its report.

    `inside`: with direct attribution, attention, and maps by position; `apart`: claims of the first so many seeds;
    `memory`: with everything that looks for the memory.
    """
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
    if inside:
        results |= {f"patching-position-{site}": planted_positions(study, site) for site in ("resid_pre", "result")}
        results |= {"direct": planted_direct(study), "attention": planted_attention(study)}
    if memory:
        results |= memory_results(study)
    for name, dataset in results.items():
        write_results(dataset, run.results / f"{name}.nc")
    rows = judge(evidence(results), study.claims, study.name)
    content: dict = {"schema": "hyst-interp/claims/1", "rows": [row.to_dict() for row in rows]}
    if apart:
        first = list(study.seeds[:apart])
        some = {name: found.sel(seed=first) for name, found in results.items()}
        judged = [row.to_dict() for row in judge(evidence(some), study.claims, study.name)]
        content["apart"] = {"seeds": first, "rows": judged}
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

    study, root = planted_run(memory=True, claims={"comparable": True, "calibrated": ["arrival-gap"]})
    write_report(study, root, "report", "f" * 64)
    return study, root
