"""The argument: a folder a question, in the order in which the report asks them.

`ORDER` is the one list of questions; everything else follows from the records that it leads to. A question may import
from the rooms above and from the questions before it. Reading the records imports no tensor library.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from hyst_interp.analysis.question import Question
from hyst_interp.errors import UserError

ORDER = (
    "gap",
    "attenuation",
    "patching",
    "similarity",
    "attribution",
    "transplant",
    "weights",
    "shapley",
    "information",
    "crossing",
    "edges",
    "calibration",
)
ENTRY_POINTS = "hyst_interp.questions"
"""Group of entry points by which other packages bring questions of their own: each names a Question."""


@cache
def questions() -> tuple[Question, ...]:
    """The records: the package's own, then those of other packages by name.

    Raises:
        UserError: another package's entry point that is no Question, or that takes a name which is taken.
    """
    own = tuple(import_module(f"{__name__}.{name}.question").QUESTION for name in ORDER)
    return (*own, *_guests({question.name for question in own}))


def _guests(taken: set[str]) -> tuple[Question, ...]:
    guests = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            question = point.load()
        except (ImportError, AttributeError) as error:
            raise UserError(
                f"question '{point.name}' of entry point '{point.value}' cannot be imported ({error});"
                " mend or remove the package that brings it."
            ) from error
        if not isinstance(question, Question):
            raise UserError(
                f"entry point '{point.name}' is {type(question).__name__}, not a Question; name one in the package"
                " that brings it."
            )
        if question.name in taken:
            raise UserError(
                f"question '{question.name}' of entry point '{point.value}' has a name that is taken; rename it."
            )
        taken.add(question.name)
        guests.append(question)
    return tuple(guests)
