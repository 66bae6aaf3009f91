"""The record of a question: everything that the rest of the package has to know of it, as plain data.

A question is a folder (`questions/attenuation/`), and its record is one object in that folder's `question.py`. From the
ordered list of records follow the command line, the plan of a study and what its workers import beforehand, the
report's chapters and answers, the methods of `Pair` and `Run`, and the public names; none of these is written down a
second time. A *reference* is text, `module:name`, relative to the question's folder, so that a record can be read
without importing a tensor library. A package of someone else may bring questions by the entry point
`hyst_interp.questions`.

It imports nothing but names: whoever needs what a reference stands for calls `Question.find`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hyst_interp.errors import UserError

if TYPE_CHECKING:
    from hyst_interp.config import StudyConfig


class Need(StrEnum):
    """What a question needs of the histories that it is asked of; the value is how a table of questions says it."""

    CHECKPOINTS = "two checkpoints"
    HOLDS = "checkpoints or margins at later holds"
    OPTIMIZER = "optimizer states on arrival"
    ANCHOR = "the common ancestor"
    RUN = "several seeds of a run"
    GRID = "a grid of schedules"


class Group(StrEnum):
    """What a person wants who types a command; the value is the heading in `--help`, in this order."""

    COMPARE = "Compare a pair"
    WHERE = "Where is it"
    LASTS = "Does it last"
    STUDIES = "Studies"
    FILES = "Files"


class Orders(StrEnum):
    """How many data orders of a study a stage measures; the value names the field of the configuration."""

    ALL = "orders"
    MAPPED = "patching.orders"
    LOCATED = "localization.orders"

    def of(self, study: "StudyConfig") -> int:
        """The number: the first so many data orders of every seed."""
        value: Any = study
        for name in self.value.split("."):
            value = getattr(value, name)
        return int(value)


@dataclass(frozen=True)
class StageRecord:
    """What a question measures in a study, on one data order of one seed."""

    kind: str
    """Name of the stage and of its directory under `results/`."""
    run: str
    """Reference to a function from `StageInputs` to datasets by the name of their file."""
    parts: tuple[str, ...]
    """Parts of the study's configuration that it reads; a change of any makes it run again."""
    orders: Orders = Orders.ALL
    """The data orders that are measured."""


@dataclass(frozen=True)
class CommandRecord:
    """A command of the command line."""

    function: str
    """Reference to the function; the command has its name."""
    line: str
    """What it is for, as the list of commands says it."""
    group: Group


@dataclass(frozen=True)
class Question:
    """One question about two histories."""

    name: str
    """Name of its folder."""
    title: str
    """The question in a few words, as a heading."""
    help: str
    """What is asked, and how it is answered, in one sentence."""
    package: str
    """Dotted name of its folder, references are relative to it."""
    needs: tuple[Need, ...] = (Need.CHECKPOINTS,)
    stage: StageRecord | None = None
    command: CommandRecord | None = None
    chapters: tuple[str, ...] = ()
    """References to functions from `RunResults` to a Chapter or None; the template stands beside the module."""
    answers: tuple[str, ...] = ()
    """References to functions from `RunResults` to an Answer or None: the sentences that answer it."""
    pair_methods: tuple[str, ...] = ()
    """References to functions of `Histories`; `Pair` has them under their names."""
    run_methods: tuple[str, ...] = ()
    """References to functions of `RunResults`; `Run` has them under their names."""
    public: tuple[str, ...] = ()
    """References to what `hyst_interp` offers by name."""
    figures: tuple[str, ...] = ()
    """References to what `hyst_interp.figures` offers by name."""

    def module(self, reference: str) -> ModuleType:
        """The module of a reference, imported."""
        return import_module(self.home(reference))

    def home(self, reference: str) -> str:
        """Dotted name of a reference's module."""
        return f"{self.package}.{reference.partition(':')[0]}"

    def find(self, reference: str) -> Callable[..., Any]:
        """What a reference stands for.

        Raises:
            UserError: a module or a name that the question's folder does not have.
        """
        try:
            return getattr(self.module(reference), name_of(reference))
        except (AttributeError, ModuleNotFoundError) as error:
            raise UserError(
                f"question '{self.name}' refers to '{reference}', which its folder {self.package} does not have"
                f" ({error}); correct its question.py."
            ) from error


def name_of(reference: str) -> str:
    """The name that a reference gives: `measure:gap` → `gap`."""
    return reference.partition(":")[2]
