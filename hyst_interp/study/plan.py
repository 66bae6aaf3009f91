"""The plan of a study: which stages there are, what each needs, and the hash of everything that it depends on.

Pure: no files, no clocks, no tensors. A stage's hash covers its own part of the configuration and the hashes of the
stages that it reads from, so a stage whose directory records the planned hash need not run again.
"""

from dataclasses import dataclass

from hyst_interp.config import SetUp, StudyConfig
from hyst_interp.config.frozen import digest

BRANCHES = ("below", "above")
RECIPE = 2
"""Raised when a stage's code comes to mean something else, so that older directories no longer count as done."""

MEASURING = {
    "behaviour": ("behaviour", "attenuation"),
    "attenuation": ("attenuation",),
    "patching": ("patching", "attenuation"),
    "circuits": ("patching", "attenuation"),
}
"""Measuring stages of a data order → the parts of the configuration that they read."""
MAPPED = ("patching", "circuits")
"""Measuring stages that only the first `patching.orders` data orders have."""
LOCATING = {
    "transplant": ("localization",),
    "weights": ("localization",),
    "coalitions": ("localization", "attenuation"),
    "information": ("localization", "attenuation"),
    "crossing": ("localization", "behaviour", "holds"),
    "routes": ("localization", "patching"),
}
"""The same for stages that look for the memory; only the first `localization.orders` data orders have them."""
CONTINUING = ("transplant", "crossing")
"""Stages that train on from arrival, and so need its optimizer state."""


@dataclass(frozen=True)
class Stage:
    """One unit of work with a directory of its own."""

    kind: str
    directory: str
    """Where its results stand, relative to the run."""
    digest: str
    """SHA-256 of all that it depends on."""
    needs: tuple[str, ...] = ()
    """Directories of the stages that must be done before it."""
    seed: int = -1
    order: int = -1
    branch: str = ""

    @property
    def title(self) -> str:
        """The stage in a few words, for progress and log."""
        words = [self.kind]
        if self.seed >= 0:
            words.append(f"seed {self.seed}")
        if self.order >= 0:
            words.append(f"order {self.order}")
        if self.branch:
            words.append(f"from {self.branch}")
        return " ".join(words)


def measuring(study: StudyConfig) -> dict[str, tuple[str, ...]]:
    """Every measuring stage of the study → the parts of the configuration that it reads."""
    kept = "hold-000" in study.save_optimizer
    return MEASURING | {kind: parts for kind, parts in LOCATING.items() if kept or kind not in CONTINUING}


def orders_of(study: StudyConfig, kind: str) -> int:
    """How many data orders, from the first on, have a measuring stage."""
    if kind in LOCATING:
        return study.localization.orders
    return study.patching.orders if kind in MAPPED else study.orders


def setup_of(study: StudyConfig, seed: int) -> SetUp:
    """What one seed of the study is trained on, and how."""
    return SetUp(seed=seed, p0=study.p0, task=study.task, model=study.model, training=study.training)


def schedule_positions(study: StudyConfig) -> tuple[int, ...]:
    """Positions along the schedule at which margins are measured, its start and end included."""
    length = 4 * study.schedule.levels * study.schedule.dwell
    return (*range(0, length, study.behaviour.every), length)


def hold_positions(study: StudyConfig) -> tuple[int, ...]:
    """Updates after arrival at which margins are measured, every hold but 0 included."""
    last = study.holds[-1]
    return tuple(sorted({h for h in (*study.behaviour.hold_positions, *study.holds) if 0 < h <= last}))


def plan(study: StudyConfig) -> tuple[Stage, ...]:
    """Every stage of a study, each after those that it needs."""
    config = study.to_json()
    trained = ("p0", "task", "model", "training", *(("device",) if study.device != "cpu" else ()))

    def stage(kind: str, directory: str, parts: tuple[str, ...], parents: tuple[Stage, ...], **place) -> Stage:
        content = {
            "recipe": RECIPE,
            "kind": kind,
            "place": place,
            "config": {part: config[part] for part in parts},
            "needs": [parent.digest for parent in parents],
        }
        return Stage(kind, directory, digest(content), tuple(parent.directory for parent in parents), **place)

    stages: list[Stage] = []
    measured: list[Stage] = []
    for seed in study.seeds:
        anchor = stage("anchor", f"seed-{seed}/anchor", trained, (), seed=seed)
        stages.append(anchor)
        measured.append(anchor)
        for order in range(study.orders):
            here = f"seed-{seed}/order-{order}"
            parts = ("schedule", "holds", "behaviour", "save_optimizer")
            branches = tuple(
                stage("branch", f"{here}/{branch}", parts, (anchor,), seed=seed, order=order, branch=branch)
                for branch in BRANCHES
            )
            results = tuple(
                stage(kind, f"{here}/results/{kind}", needed, (anchor, *branches), seed=seed, order=order)
                for kind, needed in measuring(study).items()
                if order < orders_of(study, kind)
            )
            stages.extend((*branches, *results))
            measured.extend((*branches, *results))
    collected = stage("collect", "results", ("seeds", "name", "claims"), tuple(measured))
    return (*stages, collected, stage("report", "figures", (), (collected,)))
