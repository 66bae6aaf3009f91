"""What the package offers by name: the rooms' own names, and those that the questions bring.

`hyst_interp/__init__.py` and `figures.py` are lazy by it, and `stubs.py` writes from it what editors read; no name is
imported before it is used.
"""

from collections.abc import Mapping

from hyst_interp.analysis.question import name_of
from hyst_interp.questions import questions

PACKAGE = __name__.partition(".")[0]
ROOMS = (
    "analysis",
    "claims",
    "config",
    "explorer",
    "figures",
    "history",
    "interventions",
    "model",
    "plots",
    "questions",
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
NAMES = {
    "analysis.exchange": ("exchanged",),
    "analysis.pair_data": ("PairData",),
    "config": ("SetUp", "StudyConfig"),
    "config.study": ("load_study",),
    "errors": ("UserError",),
    "facade": ("Pair", "Run", "open_run", "pair"),
    "history.advance": ("advance", "trajectory"),
    "history.schedule": ("Schedule", "hold_schedule", "paired_schedules"),
    "history.state": ("TrainingState", "fork", "initial_state"),
    "interventions.edit": ("Edit", "Reference"),
    "interventions.patching": ("normalised", "patching_map"),
    "interventions.sweep": ("run", "sweep"),
    "model.hooked": ("Hooked",),
    "sites": ("Component", "Site", "component"),
    "statistics.estimate": ("Estimate",),
    "storage.checkpoint": ("Checkpoint", "load", "save"),
    "streams": ("Stream",),
    "tasks.protocol": ("Task",),
    "tasks.trials": ("Trials",),
}
"""Module → what is offered of it."""
PICTURES = {
    "explorer.head_maps": ("head_maps",),
    "explorer.page": ("explorer_page",),
    "plots.browsers": ("browser_path",),
    "plots.heatmap": ("heatmap",),
    "plots.write": ("write_figure",),
    "report.anchors_figure": ("anchor_convergence",),
}
"""The same for `hyst_interp.figures`."""


def homes(field: str, own: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """Module, relative to the package → names that are offered of it: a table of this module, and the questions' own.

    Questions of other packages are left out: their names are those packages' to offer.

    Args:
        field: field of a record that holds references, `public` or `figures`.
    """
    table = {module: list(names) for module, names in own.items()}
    for question in questions():
        if question.package.startswith(f"{PACKAGE}."):
            for reference in getattr(question, field):
                home = question.home(reference).removeprefix(f"{PACKAGE}.")
                table.setdefault(home, []).append(name_of(reference))
    return table
