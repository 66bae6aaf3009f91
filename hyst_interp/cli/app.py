"""The application: which commands there are, and what becomes of answers and errors.

Exit status 0 with the answer on standard output; 2 with one sentence on standard error for what the user can mend; 1
with one line for a fault of ours (`HYST_TRACEBACK=1` shows where); 130 when interrupted, 141 when the reader of
standard output has gone. Nothing but an answer or a help text is ever written to standard output: what a library prints
while a command runs goes to standard error, and so does what is said of the user's weights (`WeightsWarning`).
"""

import errno
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Annotated, Any

import typer
import typer.core

from hyst_interp.analysis.question import Group
from hyst_interp.cli import explore, info, report, reproduce, trials
from hyst_interp.cli.output import Answer, note, write
from hyst_interp.errors import UserError, WeightsWarning
from hyst_interp.questions import questions
from hyst_interp.study.memory import keep_freed_memory

NAME = "hyst-interp"
INTERRUPTED, READER_GONE = 130, 141
MENDABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
"""System errors that the user can mend: permissions, and room on the disk."""
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""typer's base of usage errors, which it exports under no name of its own."""

GROUPS: dict[Group, list[str]] = {group: [] for group in Group}
"""What a person wants → names of the commands for it."""


class Grouped(typer.core.TyperGroup):
    """A program whose commands are listed by what a person wants."""

    def format_commands(self, ctx, formatter) -> None:
        """A section a group, in the order of `Group`."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        for group, names in GROUPS.items():
            rows = [(name, self.commands[name].get_short_help_str(limit)) for name in names]
            if rows:
                with formatter.section(group.value):
                    formatter.write_dl(rows)


app = typer.Typer(
    name=NAME,
    cls=Grouped,
    help="Does a neural network remember how it was trained, where is that memory, and does it last?",
    epilog=f"Start with: {NAME} attenuate checkpoints/seed-0/order-0/below checkpoints/seed-0/order-0/above",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=False,
)


def _print_version(wanted: bool) -> bool:
    if wanted:
        from importlib.metadata import version

        print(f"{NAME} {version(NAME)}")
        raise typer.Exit
    return wanted


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


@contextmanager
def _said_in_lines() -> Iterator[None]:
    """What is said of the user's weights is shown, each sentence once, as a line; other warnings as they would be."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("default", WeightsWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, WeightsWarning):
                note(str(message))
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show
        yield


def _aside(command: Callable[..., Answer]) -> Callable[..., Answer]:
    """The command with standard output set aside for its answer."""

    @functools.wraps(command)
    def run(*args: object, **kwargs: object) -> Answer:
        keep_freed_memory()
        with redirect_stdout(sys.stderr), _said_in_lines():
            return command(*args, **kwargs)

    return run


OWN: tuple[tuple[Callable[..., Answer], str, Group], ...] = (
    (explore.explore, "Both histories head by head, as a page with menus.", Group.COMPARE),
    (reproduce.reproduce, "Train, measure and judge a whole study.", Group.STUDIES),
    (report.report, "Make a run's report again from its results.", Group.STUDIES),
    (info.info, "What a checkpoint is, and where it comes from.", Group.FILES),
    (trials.trials, "Prompts with both answers, as an .npz file.", Group.FILES),
)
"""Commands that are no question's."""


def commands() -> list[tuple[Callable[..., Answer], str, Group]]:
    """Every command with its line and group: the questions' in their order, then the program's own."""
    asked = [
        (question.find(question.command.function), question.command.line, question.command.group)
        for question in questions()
        if question.command is not None
    ]
    return [*asked, *OWN]


def _add_commands() -> None:
    for command, line, group in commands():
        app.command(command.__name__, short_help=line)(_aside(command))
        GROUPS[group].append(command.__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on `arguments` (by default the process's own); returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        if not any(GROUPS.values()):
            _add_commands()
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
        answer = typer.main.get_command(app).main(words, prog_name=NAME, standalone_mode=False)
        if isinstance(answer, Answer):
            write(answer)
        sys.stdout.flush()
        return _interrupted() if answer == INTERRUPTED else 0
    except UserError as error:
        return _refuse(str(error))
    except UsageError as error:
        return _refuse(_usage(error, words))
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except BrokenPipeError:
        # Python flushes standard output once more at exit; let it flush into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except Exception as error:
        if isinstance(error, OSError) and error.errno in MENDABLE:
            return _refuse(f"'{error.filename or 'output'}' cannot be written ({error.strerror}); name another place.")
        return _fault(error)


def _interrupted() -> int:
    note("interrupted.")
    return INTERRUPTED


def _refuse(sentence: str) -> int:
    note(sentence)
    return 2


def _fault(error: Exception) -> int:
    if os.environ.get("HYST_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    what = " ".join(str(error).split()) or "no message"
    note(f"a fault of {NAME}, not yours: {type(error).__name__}: {what[:300]} (HYST_TRACEBACK=1 shows where).")
    return 1


def _usage(error: Exception, words: Sequence[str]) -> str:
    """typer's complaint as one sentence: what, the value, the remedy."""
    message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    message = message.replace(". Did you mean", "; did you mean").rstrip(".?")
    message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else NAME
    value = _given(words, getattr(getattr(error, "param", None), "opts", ()))
    if value is not None and repr(value) not in message:
        message = message.replace("invalid value for ", f"invalid value {value!r} for ", 1)
    return f"{message}; see '{path} --help'."


def _given(words: Sequence[str], options: Sequence[str]) -> str | None:
    """What was written after an option, or None."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in options and word.startswith("-"):
            return value if equals else next(iter(words[index + 1 : index + 2]), None)
    return None
