"""The plan of a study: which stages there are, what each needs, and the hash of everything that it depends on.

Pure: no files, no clocks, no tensors. A stage's hash covers its own part of the configuration and the hashes of the
stages that it reads from, so a stage whose directory records the planned hash need not run again.
"""

from dataclasses import dataclass

from hyst_interp.analysis.question import Need, StageRecord
from hyst_interp.config import StudyConfig
from hyst_interp.config.frozen import digest
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.questions import questions

RECIPE = 2
"""Raised when a stage's code comes to mean something else, so that older directories no longer count as done."""


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


def measuring(study: StudyConfig) -> dict[str, tuple[StageRecord, int]]:
    """Kind of every measuring stage of the study → its record, and how many data orders, from the first on, have it.

    A question that needs optimizer states is left out where the study keeps none on arrival.
    """
    kept = "hold-000" in study.save_optimizer
    return {
        question.stage.kind: (question.stage, question.stage.orders.of(study))
        for question in questions()
        if question.stage is not None and (kept or Need.OPTIMIZER not in question.needs)
    }


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
            pair_path = f"seed-{seed}/order-{order}"
            parts = ("schedule", "holds", "behaviour", "save_optimizer")
            branches = tuple(
                stage("branch", f"{pair_path}/{branch}", parts, (anchor,), seed=seed, order=order, branch=branch)
                for branch in BRANCHES
            )
            results = tuple(
                stage(kind, f"{pair_path}/results/{kind}", record.parts, (anchor, *branches), seed=seed, order=order)
                for kind, (record, orders) in measuring(study).items()
                if order < orders
            )
            stages.extend((*branches, *results))
            measured.extend((*branches, *results))
    collected = stage("collect", "results", ("seeds", "name", "claims"), tuple(measured))
    return (*stages, collected, stage("report", "figures", (), (collected,)))
