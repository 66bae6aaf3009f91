"""Patch every edge of both branches of one data order on arrival: exact effects, circuits, and EAP-IG beside them."""

from pathlib import Path

from hyst_interp.config import StudyConfig
from hyst_interp.questions.edges.measure import gap_effects
from hyst_interp.questions.edges.run_measure import attributions, circuits, twin_effects
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.results import write_results
from hyst_interp.storage.run import write_stage
from hyst_interp.streams import Stream
from hyst_interp.study.pairs import pair_at
from hyst_interp.study.plan import Stage, setup_of
from hyst_interp.tasks.recall import task_of


def run(study: StudyConfig, root: Path, stage: Stage) -> None:
    """Writes `results/routes`: `routes.nc` (twin, branch, edge, trial), `routes-gap.nc`, `circuits.nc`,
    `attribution.nc`.
    """
    settings, task = study.localization, task_of(setup_of(study, stage.seed))
    pair = pair_at(study, root, stage.seed, stage.order, 0, settings.route_trials)
    twins = {twin: task.twin(pair.trials, twin) for twin in study.patching.twins}
    stream = Stream("resampling", stage.seed, stage.order)
    with new_directory(root / stage.directory) as part:
        found = twin_effects(pair, twins)
        write_results(found, part / "routes.nc")
        moved = gap_effects(pair)
        moved["answer_mass"] = moved["answer_mass"].mean("trial", keep_attrs=True)
        write_results(moved, part / "routes-gap.nc")
        write_results(circuits(pair, twins, found, stream), part / "circuits.nc")
        write_results(attributions(pair, twins, settings.attribution_steps), part / "attribution.nc")
        write_stage(part, stage.kind, stage.digest)
