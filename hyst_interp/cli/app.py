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

from hyst_interp.cli import explore, info, report, reproduce, trials
from hyst_interp.cli.output import Answer, note, write
from hyst_interp.errors import UserError, WeightsWarning
from hyst_interp.questions.attenuation import command as attenuate
from hyst_interp.questions.crossing import command as cross
from hyst_interp.questions.edges import command as routes
from hyst_interp.questions.gap import command as relax
from hyst_interp.questions.information import command as information
from hyst_interp.questions.patching import command as patch
from hyst_interp.questions.similarity import command as compare
from hyst_interp.questions.transplant import command as transplant
from hyst_interp.questions.weights import command as weights
from hyst_interp.study.memory import keep_freed_memory

NAME = "hyst-interp"
INTERRUPTED, READER_GONE = 130, 141
MENDABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
"""System errors that the user can mend: permissions, and room on the disk."""
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""typer's base of usage errors, which it exports under no name of its own."""

app = typer.Typer(
    name=NAME,
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


COMMANDS: dict[Callable[..., Answer], str] = {
    attenuate.attenuate: "How much of the gap goes with which components.",
    patch.patch: "Where the answer is carried: patching maps.",
    transplant.transplant: "Did weights or optimizer carry the gap of a run?",
    weights.weights: "Which groups of weights carry the gap.",
    information.information: "What components carry: a mean, or information.",
    cross.cross: "Where content of one history suffices in the other.",
    routes.routes: "Edges and circuits: how answer and gap travel.",
    compare.compare: "Behaviour, topology and gain of two histories.",
    explore.explore: "Both histories head by head, as a page with menus.",
    trials.trials: "Prompts with both answers, as an .npz file.",
    relax.relax: "How the gap of a run goes, and whether it has gone.",
    report.report: "Make a run's report again from its results.",
    info.info: "What a checkpoint is, and where it comes from.",
    reproduce.reproduce: "Train, measure and judge a whole study.",
}
"""Commands, with their line in the list of commands."""

for _command, _line in COMMANDS.items():
    app.command(_command.__name__, short_help=_line)(_aside(_command))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on `arguments` (by default the process's own); returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
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
