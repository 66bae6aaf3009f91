"""Does a neural network remember how it was trained, where is that memory, and does it last?

    import hyst_interp as hi
    pair = hi.pair("checkpoints/seed-0/order-0/below", "checkpoints/seed-0/order-0/above")
    pair.gap(); pair.attenuation(); hi.figures.heatmap(pair.patching("resid_pre"))

This file is a lazy table of names (PEP 562): `import hyst_interp` imports no tensor library; the first use of a name
imports what it needs. Where a name is both a noun and a folder's business, the folder is an attribute too
(`hi.statistics.student_t`, `hi.figures.heatmap`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hyst_interp import (
        claims,
        comparison,
        config,
        figures,
        history,
        interventions,
        localization,
        model,
        readout,
        report,
        sites,
        statistics,
        storage,
        streams,
        study,
        tasks,
    )
    from hyst_interp.analysis.pair_data import PairData
    from hyst_interp.config import SetUp, StudyConfig
    from hyst_interp.config.study import load_study
    from hyst_interp.errors import UserError
    from hyst_interp.facade import Pair, pair
    from hyst_interp.history.advance import advance, trajectory
    from hyst_interp.history.schedule import Schedule, hold_schedule, paired_schedules
    from hyst_interp.history.state import TrainingState, fork, initial_state
    from hyst_interp.interventions.edit import Edit, Reference
    from hyst_interp.interventions.patching import normalised, patching_map
    from hyst_interp.interventions.sweep import run, sweep
    from hyst_interp.model.hooked import Hooked
    from hyst_interp.questions.attenuation.measure import attenuation
    from hyst_interp.questions.crossing.crossing_over_time import mechanism_course
    from hyst_interp.questions.crossing.layer_swap import prefix_ladder
    from hyst_interp.questions.crossing.measure import crossing
    from hyst_interp.questions.edges.edge_attribution import attribution
    from hyst_interp.questions.edges.edge_circuits import circuit, faithfulness_curve, prune, ranking
    from hyst_interp.questions.edges.measure import edge_effects, gap_effects, pair_effects
    from hyst_interp.questions.gap.measure import gap_estimate as gap
    from hyst_interp.questions.information.measure import information
    from hyst_interp.questions.shapley.games import donor_game, own_mean_game
    from hyst_interp.questions.shapley.measure import shapley
    from hyst_interp.questions.shapley.sampling import sampled_shapley
    from hyst_interp.questions.similarity.measure import similarity
    from hyst_interp.questions.transplant.measure import transplant
    from hyst_interp.questions.weights.measure import weight_moves
    from hyst_interp.sites import Component, Site, component
    from hyst_interp.statistics.estimate import Estimate
    from hyst_interp.storage.checkpoint import Checkpoint, load, save
    from hyst_interp.streams import Stream
    from hyst_interp.tasks.protocol import Task
    from hyst_interp.tasks.trials import Trials

_HOME = {
    "Checkpoint": "storage.checkpoint",
    "Component": "sites",
    "Edit": "interventions.edit",
    "Estimate": "statistics.estimate",
    "Hooked": "model.hooked",
    "Pair": "facade",
    "PairData": "comparison.pair_data",
    "Reference": "interventions.edit",
    "Schedule": "history.schedule",
    "SetUp": "config",
    "Site": "sites",
    "Stream": "streams",
    "StudyConfig": "config",
    "Task": "tasks.protocol",
    "TrainingState": "history.state",
    "Trials": "tasks.trials",
    "UserError": "errors",
    "advance": "history.advance",
    "attenuation": "comparison.attenuation",
    "attribution": "localization.edge_attribution",
    "circuit": "localization.edge_circuits",
    "component": "sites",
    "crossing": "localization.crossing",
    "donor_game": "localization.coalitions",
    "edge_effects": "localization.edge_patching",
    "faithfulness_curve": "localization.edge_circuits",
    "fork": "history.state",
    "gap": "comparison.gap:gap_estimate",
    "gap_effects": "localization.edge_patching",
    "hold_schedule": "history.schedule",
    "information": "localization.information",
    "initial_state": "history.state",
    "load": "storage.checkpoint",
    "load_study": "config.study",
    "mechanism_course": "localization.mechanism",
    "normalised": "interventions.patching",
    "own_mean_game": "localization.coalitions",
    "pair": "facade",
    "pair_effects": "localization.edge_patching",
    "paired_schedules": "history.schedule",
    "patching_map": "interventions.patching",
    "prefix_ladder": "localization.prefix_ladder",
    "prune": "localization.edge_circuits",
    "ranking": "localization.edge_circuits",
    "run": "interventions.sweep",
    "sampled_shapley": "localization.shapley_sampling",
    "save": "storage.checkpoint",
    "shapley": "localization.shapley",
    "similarity": "comparison.topology",
    "sweep": "interventions.sweep",
    "trajectory": "history.advance",
    "transplant": "localization.transplant",
    "weight_moves": "localization.weight_moves",
}
"""Public name → the module that defines it (and its name there, where it differs)."""
_FOLDERS = (
    "claims",
    "comparison",
    "config",
    "figures",
    "history",
    "interventions",
    "localization",
    "model",
    "readout",
    "report",
    "sites",
    "statistics",
    "storage",
    "streams",
    "study",
    "tasks",
)
"""Submodules that are reached as attributes."""

__all__ = [
    "Checkpoint",
    "Component",
    "Edit",
    "Estimate",
    "Hooked",
    "Pair",
    "PairData",
    "Reference",
    "Schedule",
    "SetUp",
    "Site",
    "Stream",
    "StudyConfig",
    "Task",
    "TrainingState",
    "Trials",
    "UserError",
    "advance",
    "attenuation",
    "attribution",
    "circuit",
    "claims",
    "comparison",
    "component",
    "config",
    "crossing",
    "donor_game",
    "edge_effects",
    "faithfulness_curve",
    "figures",
    "fork",
    "gap",
    "gap_effects",
    "history",
    "hold_schedule",
    "information",
    "initial_state",
    "interventions",
    "load",
    "load_study",
    "localization",
    "mechanism_course",
    "model",
    "normalised",
    "own_mean_game",
    "pair",
    "pair_effects",
    "paired_schedules",
    "patching_map",
    "prefix_ladder",
    "prune",
    "ranking",
    "readout",
    "report",
    "run",
    "sampled_shapley",
    "save",
    "shapley",
    "similarity",
    "sites",
    "statistics",
    "storage",
    "streams",
    "study",
    "sweep",
    "tasks",
    "trajectory",
    "transplant",
    "weight_moves",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("hyst-interp")
    if name in _FOLDERS:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, _, alias = _HOME[name].partition(":")
    return getattr(import_module(f"{__name__}.{home}"), alias or name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
