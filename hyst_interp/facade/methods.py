"""Functions of the questions become methods: one that takes a pair or a run first is asked of that pair or run.

The functions' modules are imported when the class is made, so that signatures and docstrings are the functions' own.
"""

from collections.abc import Mapping, Sequence

from hyst_interp.analysis.question import Question, name_of
from hyst_interp.errors import UserError


def add_methods(cls: type, references: Mapping[Question, Sequence[str]]) -> None:
    """Give `cls` every referred function under its name.

    Raises:
        UserError: a name that the class has already.
    """
    for question, methods in references.items():
        for reference in methods:
            name = name_of(reference)
            if hasattr(cls, name):
                raise UserError(
                    f"question '{question.name}' gives {cls.__name__} a method '{name}', which it has already;"
                    " rename it."
                )
            setattr(cls, name, question.find(reference))
