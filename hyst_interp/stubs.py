"""Stub files, made from the lists of names: what editors and type checkers see of names that are lazy when they run.

    python -m hyst_interp.stubs

writes them (`make stubs` does); a test holds them against the lists. Nothing imports this module.
"""

from collections.abc import Mapping
from pathlib import Path

from hyst_interp.analysis.question import name_of
from hyst_interp.names import NAMES, PACKAGE, PICTURES, ROOMS, homes
from hyst_interp.questions import questions

HERE = Path(__file__).resolve().parent
HEAD = "# Made by hyst_interp.stubs from the lists of names; do not edit.\n"
OPENED = """
def pair(
    below: str | Path,
    above: str | Path,
    trials: int = 2048,
    seed: int | None = None,
    anchor: str | Path | None = None,
) -> Pair: ...
"""


def stubs() -> dict[Path, str]:
    """File → its text."""
    modules = "\n".join(f"from {PACKAGE} import {room} as {room}" for room in ROOMS)
    return {
        HERE / "__init__.pyi": f"{HEAD}{modules}\n{_imports(homes('public', NAMES))}\n__version__: str\n",
        HERE / "figures.pyi": f"{HEAD}{_imports(homes('figures', PICTURES))}\n",
        HERE / "facade" / "pair.pyi": f"{HEAD}from pathlib import Path\n\n"
        f"from {PACKAGE}.analysis.histories import Histories\n\n"
        f"class Pair(Histories):\n"
        f"    from {PACKAGE}.explorer.explorer_data import explore_pair as exploration\n"
        f"{_methods('pair_methods')}\n{OPENED}",
        HERE / "facade" / "run.pyi": f"{HEAD}from pathlib import Path\n\n"
        f"from {PACKAGE}.report.run_results import RunResults\n\n"
        f"class Run(RunResults):\n{_methods('run_methods')}\n\ndef open_run(path: str | Path) -> Run: ...\n",
    }


def _imports(table: Mapping[str, list[str]]) -> str:
    return "\n".join(
        f"from {PACKAGE}.{module} import {name} as {name}" for module, names in sorted(table.items()) for name in names
    )


def _methods(field: str) -> str:
    """Imports in the body of a class: the functions become its methods."""
    return "\n".join(
        f"    from {question.home(reference)} import {name_of(reference)} as {name_of(reference)}"
        for question in questions()
        if question.package.startswith(f"{PACKAGE}.")
        for reference in getattr(question, field)
    )


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, "utf-8")
