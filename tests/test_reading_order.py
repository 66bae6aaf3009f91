"""The folders are the argument, in reading order: a module imports only from rooms above its own.

The order is literal here. Lazy imports inside functions, imports for type checkers, and module names in strings (as
`importlib` and lazy tables take them) all count.
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hyst_interp.questions import ORDER as QUESTIONS

PACKAGE = Path(__file__).resolve().parent.parent / "hyst_interp"
ORDER = (
    "errors",
    "sites",
    "references",
    "streams",
    "verdicts",
    "config",
    "statistics",
    "tasks",
    "model",
    "readout",
    "history",
    "storage",
    "interventions",
    "analysis",
    "plots",
    # What chapters and commands are made with stands above the questions, …
    "report.wording",
    "report.blocks",
    "report.answers",
    "report.run_results",
    "cli.output",
    "cli.arguments",
    "cli.tables",
    "cli.maps",
    "cli.rows",
    *(f"questions.{name}" for name in QUESTIONS),
    "questions",
    "explorer",
    "claim_inputs",
    "claims",
    # … and what puts them together below.
    "report",
    "study",
    "facade",
    "names",
    "figures",
    "stubs",
    "cli",
)
"""Rooms, and modules of a room that stand elsewhere, from the top down."""
ENTRY = "__main__"
"""`python -m hyst_interp`: it belongs to the last room."""
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
COLD = (
    "hyst_interp",
    "hyst_interp.errors",
    "hyst_interp.sites",
    "hyst_interp.references",
    "hyst_interp.streams",
    "hyst_interp.verdicts",
    "hyst_interp.config",
    "hyst_interp.config.study",
    "hyst_interp.storage.manifest",
    "hyst_interp.analysis.question",
    "hyst_interp.questions",
    *(f"hyst_interp.questions.{name}.question" for name in QUESTIONS),
    *(f"hyst_interp.questions.{name}.command" for name in QUESTIONS),
    "hyst_interp.study.plan",
    "hyst_interp.names",
    "hyst_interp.figures",
    "hyst_interp.cli",
)
HEAVY = ("torch", "xarray", "scipy.stats", "transformer_lens")


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The entry of `ORDER` that a module belongs to: the longest that begins its name."""
    name = module.partition(".")[2]
    if name == ENTRY:
        return ORDER[-1]
    there = [room for room in ORDER if f"{name}.".startswith(f"{room}.")]
    return max(there, key=len, default=name)


def named_modules(source: str, package: str) -> list[str]:
    """Every module that a source names; `from a import b` gives `a.b`, and `package` resolves relative imports."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found.extend(f"{origin}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"\w+(\.\w+)*", node.value)
        ):
            top = node.value.split(".")[0]
            if top == "transformer_lens" or (top == "hyst_interp" and "." in node.value):
                found.append(node.value)
    return found


def complaints(source: str, module: str, is_package: bool = False) -> list[str]:
    """What breaks the reading order in the source of `module`."""
    own = room_of(module)
    package = module if is_package else module.rpartition(".")[0]
    found = []
    for name in named_modules(source, package):
        parts = name.split(".")
        if parts[0] == "transformer_lens" and own != "model":
            found.append(f"{module} names {name}: only model/ may")
        if parts[0] != "hyst_interp":
            continue
        room = room_of(name)
        if parts[-1] == "__version__":
            continue
        if room not in ORDER:
            if own != "cli":
                found.append(f"{module} imports the package itself ({name})")
        elif ORDER.index(room) > ORDER.index(own):
            found.append(f"{module} imports {name} from below")
    return found


def imported(path: Path) -> set[str]:
    """Modules of the package that a module imports, lazily or not; not what it names for type checkers alone."""
    module = dotted(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = [ast.Pass()]
    names = {name for name in named_modules(ast.unparse(tree), package) if name.startswith("hyst_interp.")}
    return {name if exists(name) else name.rpartition(".")[0] for name in names} - {module, "hyst_interp"}


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import one another in a circle, or none."""
    done: set[str] = set()

    def visit(module: str, way: list[str]) -> list[str]:
        if module in way:
            return [*way[way.index(module) :], module]
        if module in done:
            return []
        for other in sorted(graph.get(module, ())):
            if circle := visit(other, [*way, module]):
                return circle
        done.add(module)
        return []

    return next((circle for module in sorted(graph) if (circle := visit(module, []))), [])


def test_no_module_imports_itself_by_way_of_others():
    assert cycle_in({dotted(path): imported(path) for path in MODULES}) == []


def test_a_planted_circle_is_found():
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c", "a"]
    assert cycle_in({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_every_room_has_its_place_in_the_order():
    assert {room_of(dotted(path)) for path in MODULES} <= set(ORDER)
    assert len(MODULES) > 30
    assert len(set(ORDER)) == len(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_a_module_imports_only_from_above(path):
    assert complaints(path.read_text("utf-8"), dotted(path), path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("hyst_interp.tasks.recall", "from hyst_interp.history.state import fork"),
        ("hyst_interp.tasks.recall", "import hyst_interp.model.build as build"),
        ("hyst_interp.tasks.recall", "def f():\n    if 1:\n        from hyst_interp import readout\n"),
        ("hyst_interp.tasks.recall", "from ..storage import atomic"),
        ("hyst_interp.tasks.recall", "from .. import storage"),
        ("hyst_interp.tasks.recall", "import importlib\nimportlib.import_module('hyst_interp.storage.atomic')"),
        ("hyst_interp.history.state", "from transformer_lens import HookedTransformer"),
        ("hyst_interp.history.state", "import transformer_lens.utils"),
        ("hyst_interp.history.state", "__import__('transformer_lens')"),
        ("hyst_interp.study.plan", "from hyst_interp.facade import Pair"),
        ("hyst_interp.study.plan", "import hyst_interp"),
        ("hyst_interp.sites", "from hyst_interp.cli.main import app"),
        ("hyst_interp.questions.gap.measure", "from hyst_interp.questions.weights.measure import moved"),
        ("hyst_interp.questions.gap.chapter", "from hyst_interp.report.page import page"),
        ("hyst_interp.questions.gap.command", "def f():\n    from hyst_interp.cli.app import main"),
        ("hyst_interp.report.blocks", "from hyst_interp.questions.gap.measure import gap"),
    ],
)
def test_a_planted_import_from_below_is_found(module, source):
    assert len(complaints(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("hyst_interp.tasks.recall", "from hyst_interp.streams import Stream\nfrom .twins import TWINS"),
        ("hyst_interp.model.build", "from transformer_lens import HookedTransformer"),
        ("hyst_interp.cli.explore", "def f():\n    from hyst_interp.facade import Pair"),
        ("hyst_interp.study.plan", "from hyst_interp.storage.run import Run"),
        ("hyst_interp.storage.run", "'''Text that speaks of hyst_interp.cli and of transformer_lens at length.'''"),
    ],
)
def test_an_import_from_above_is_no_complaint(module, source):
    assert complaints(source, module) == []


def exists(module: str) -> bool:
    path = PACKAGE.parent.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_cold_modules_load_nothing_heavy():
    """One process imports them one after the other, then (the control) a module that must be found warm."""
    modules = [module for module in COLD if exists(module)]
    assert len(modules) >= 7
    script = (
        "import importlib, json, sys\n"
        f"heavy, found = {HEAVY!r}, {{}}\n"
        f"for name in {[*modules, 'hyst_interp.storage.results']!r}:\n"
        "    importlib.import_module(name)\n"
        "    found[name] = [h for h in heavy if h in sys.modules]\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("hyst_interp.storage.results") == ["xarray"]
    assert found == {module: [] for module in modules}
