"""What the arguments mean, and every refusal that needs no tensors.

The types below carry name, metavar and help of the options that commands share; the functions turn their text into
checked values, in well under a second, before anything slow is imported. All of them raise UserError.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hyst_interp.cli.output import note
from hyst_interp.errors import UserError
from hyst_interp.references import reference_names
from hyst_interp.sites import ComponentSet, parse_sets

if TYPE_CHECKING:
    from hyst_interp.config import StudyConfig
    from hyst_interp.storage.manifest import Manifest
    from hyst_interp.storage.run import Run

Format = Annotated[
    str, typer.Option("--format", metavar="table|json|csv", help="How to print the answer on standard output.")
]
Below = Annotated[
    str, typer.Argument(metavar="CKPT_A", help="Checkpoint from below; a branch directory stands for its hold-000.")
]
Above = Annotated[str, typer.Argument(metavar="CKPT_B", help="Checkpoint from above, of the same seed.")]
NumberOfTrials = Annotated[
    int, typer.Option("--trials", metavar="N", help="Conflict trials to measure on, the same for both networks.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="S", help="Draw other trials, from evaluation stream S; by default the checkpoint's own seed."
    ),
]
Figure = Annotated[
    str | None,
    typer.Option("--figure", metavar="FILE", help="Also draw it: .html, or .png and .svg with Chrome at hand."),
]
RunDirectory = Annotated[str, typer.Argument(metavar="RUN", help="Directory that 'hyst-interp reproduce' wrote.")]

MOST_TRIALS = 1_000_000
FIGURES = (".html", ".png", ".svg")


def choice(name: str, value: str, allowed: Sequence[str]) -> str:
    """`value`, which must be one of `allowed`."""
    if value not in allowed:
        raise UserError(f"{name} '{value}' does not exist; use one of {', '.join(allowed)}.")
    return value


def at_least(option: str, value: int, smallest: int, largest: int = MOST_TRIALS) -> int:
    """A number within its limits."""
    if not smallest <= value <= largest:
        side = f"at least {smallest}" if value < smallest else f"at most {largest}"
        raise UserError(f"{option} is {value}; use {side}.")
    return value


def check_seed(seed: int | None) -> int | None:
    """A seed from 0 up, or None for the checkpoint's own."""
    if seed is not None and seed < 0:
        raise UserError(f"--seed is {seed}; use 0 or more.")
    return seed


def checkpoint(path: str) -> "tuple[Path, Manifest]":
    """Directory and manifest of a checkpoint, its files verified."""
    from hyst_interp.storage.manifest import read_manifest

    return read_manifest(path)


def two_checkpoints(below: str, above: str) -> "tuple[Manifest, Manifest]":
    """The manifests of a pair that can be compared, from below first."""
    from hyst_interp.storage.manifest import refuse_unlike

    first, second = checkpoint(below)[1], checkpoint(above)[1]
    refuse_unlike(first, second)
    if first.provenance.position != second.provenance.position:
        note(
            f"the checkpoints stand at positions {first.provenance.position} and {second.provenance.position}: the gap"
            " mixes their histories with their ages."
        )
    return first, second


def references(text: str) -> tuple[str, ...]:
    """References separated by commas, each once."""
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        choice("reference", name, reference_names())
    return names


def component_sets(text: str, manifest: "Manifest") -> tuple[ComponentSet, ...]:
    """Component sets of the checkpoint's model."""
    model = manifest.setup.model
    return parse_sets(text, model.n_layers, model.n_heads, model.d_mlp > 0)


def anchor(given: str | None, below: str, manifest: "Manifest") -> Path | None:
    """The anchor's directory: the one given, or the run's own where its hash is the recorded ancestor's."""
    from hyst_interp.storage.manifest import find_checkpoint, read_manifest, refuse_unlike

    recorded = manifest.provenance.anchor
    if given is not None:
        directory, anchor_manifest = read_manifest(given)
        try:
            refuse_unlike(manifest, anchor_manifest, ordered=False)
        except UserError as error:
            raise UserError(f"--anchor '{given}' does not fit: {error}") from None
        if recorded is not None and anchor_manifest.weights != recorded.weights:
            note(f"--anchor '{given}' is not the recorded ancestor of '{below}'.")
        return directory
    own = find_checkpoint(below).resolve().parents[2:3]
    if recorded is None or not own:
        return None
    try:
        directory, anchor_manifest = read_manifest(own[0] / "anchor")
    except UserError:
        return None
    return directory if anchor_manifest.weights == recorded.weights else None


def output_file(option: str, text: str, suffixes: Sequence[str]) -> Path:
    """A file to write: its ending known, its directory there and writable."""
    path = Path(text)
    if path.suffix not in suffixes:
        raise UserError(f"{option} '{text}' does not end in {' or '.join(suffixes)}; name such a file.")
    if path.is_dir():
        raise UserError(f"{option} '{text}' is a directory; name a file.")
    if not path.parent.is_dir():
        raise UserError(f"{option} '{text}': directory '{path.parent}' does not exist; make it, or name another.")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{option} '{text}': directory '{path.parent}' cannot be written to; name another.")
    return path


def figure_file(text: str) -> Path:
    """The figure's file; a picture needs a browser, which is looked for before anything is measured."""
    from importlib.util import find_spec

    from hyst_interp.plots.browsers import browser_path

    file = output_file("--figure", text, FIGURES)
    if file.suffix != ".html" and (browser_path() is None or find_spec("kaleido") is None):
        raise UserError(
            f"--figure '{text}' needs a browser to be drawn; install Chrome or Chromium and"
            " pip install hyst-interp[figures], or write .html."
        )
    return file


def refuse_impossible_twin(twin: str, manifest: "Manifest") -> None:
    """UserError for a twin that the checkpoint's task cannot have."""
    task = manifest.setup.task
    if twin == "query" and task.n_pairs < 2:
        raise UserError("twin 'query' needs a second key in the prompt, which has 1 pair; use value or rename.")
    if twin == "rename" and task.n_keys < task.n_pairs + 2:
        raise UserError(
            f"twin 'rename' needs two keys outside the prompt, but {task.n_keys} keys leave"
            f" {task.n_keys - task.n_pairs} beside {task.n_pairs} pairs; use value or query."
        )


def finished_run(path: str, needed: Sequence[str]) -> "tuple[Run, StudyConfig]":
    """A run whose merged results hold every file that is `needed`, and its study."""
    from hyst_interp.storage.run import Run

    run = Run(Path(path))
    if not run.root.is_dir():
        raise UserError(f"run '{path}' does not exist; name a directory that 'hyst-interp reproduce' wrote.")
    study = run.study()
    for name in needed:
        if not (run.results / f"{name}.nc").is_file():
            raise UserError(
                f"run '{path}' is not finished: it has no results/{name}.nc; finish it with"
                " 'hyst-interp reproduce --resume'."
            )
    return run, study
