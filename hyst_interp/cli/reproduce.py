"""`reproduce`: train, measure and judge a whole study, and lay the paper's claims beside it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyst_interp.cli.arguments import Format, at_least, choice
from hyst_interp.cli.output import Answer, check_format, schema
from hyst_interp.errors import UserError

if TYPE_CHECKING:
    from hyst_interp.config import StudyConfig


def reproduce(
    preset: Annotated[
        str, typer.Option("--preset", metavar="paper|smoke|tiny|FILE.toml", help="The study: a preset, or a TOML file.")
    ] = "paper",
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="0-4", help="Training seeds instead of the preset's: 0-4, 3, or 0-2,7."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Directory of the run; by default runs/ and the study's name."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes at work; by default one a core.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="cpu|cuda",
            help="Where training runs, instead of the preset's: a GPU trains all histories in lockstep.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="tcp://host:port", help="Work on a dask cluster, by its scheduler's address."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Finish a run that was interrupted.")] = False,
    format: Format = "table",
) -> Answer:
    """Train both histories of every seed, measure them, and lay the paper's claims beside what was found.

    Everything goes into one directory: checkpoints, results, figures, and report.html. An interrupted run is finished
    with --resume; whole stages are kept.

    \b
    Examples:
      hyst-interp reproduce --preset smoke
      hyst-interp reproduce --preset paper --out runs/paper --workers 4 --resume
    """
    check_format(format)
    if workers is not None:
        at_least("--workers", workers, 1, 4096)
    if cluster is not None:
        _check_cluster(cluster, workers)
    from hyst_interp.config.study import DEVICES, load_study, parse_seeds

    study = load_study(preset)
    if seeds is not None:
        study = study.replace(seeds=parse_seeds(seeds))
    if device is not None:
        study = study.replace(device=choice("--device", device, DEVICES))
    directory = Path("runs") / study.name if out is None else Path(out)
    refuse_taken(directory, study, resume)

    from hyst_interp.cli.progress import Progress
    from hyst_interp.study.reproduce import reproduce as run_study

    progress = Progress()
    try:
        outcome = run_study(study, directory, workers, resume, listener=progress, cluster=cluster)
    finally:
        progress.close()
    rows = [row.to_dict() for row in outcome.rows]
    data = {
        "schema": schema("reproduce"),
        "rows": rows,
        "run": str(outcome.run),
        "seconds": outcome.seconds,
        "study": study.name,
        "seeds": list(study.seeds),
    }
    return Answer(data, rows, lambda colour: _table(data, colour), format)


def _check_cluster(address: str, workers: int | None) -> None:
    """The form of the address, and that nobody asks for processes here as well."""
    from hyst_interp.study.cluster import check_address

    if workers is not None:
        raise UserError(
            f"--workers {workers} is for this machine, and --cluster '{address}' has workers of its own; pass one of"
            " them."
        )
    check_address(address)


def refuse_taken(directory: Path, study: "StudyConfig", resume: bool) -> None:
    """Every refusal of `open_run`, and a place that cannot be written to, before anything is written."""
    from hyst_interp.storage.run import open_run

    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        open_run(directory, study, resume)
    there = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not there.is_dir():
        raise UserError(f"output '{directory}' lies below '{there}', which is a file; name a directory with --out.")
    if not os.access(there, os.W_OK):
        raise UserError(f"output '{directory}': directory '{there}' cannot be written to; pass another --out.")


def _table(data: dict[str, Any], colour: bool) -> str:
    import textwrap

    from hyst_interp.cli.progress import duration
    from hyst_interp.cli.tables import layout, paragraph

    body = []
    for row in data["rows"]:
        cells = [
            "\n".join(textwrap.wrap(row["quantity"], 22)),
            "\n".join(textwrap.wrap(row["paper"], 10)),
            _ours(row),
            "\n".join(textwrap.wrap(row["verdict"], 12)),
            "calibrated" if row["calibrated"] else "free",
        ]
        body.append(cells)
    seeds = len(data["seeds"])
    lines = [
        paragraph(f"{data['study']}: {seeds} seed{'s' if seeds > 1 else ''} in {data['run']}"),
        "",
        layout(["quantity", "paper", "ours", "verdict", ""], body, "lllll", colour),
        "",
    ]
    reasons = dict.fromkeys(f"{row['quantity']}: {row['reason']}" for row in data["rows"] if row.get("reason"))
    lines += [paragraph(f"{reason}.", hang="  ") for reason in reasons]
    lines.append(
        paragraph(
            "The seed is the unit of inference. calibrated: the choice of the preset fixed this row or made it likely;"
            " free: it did not. The rule behind every verdict, the figures and all numbers by seed are in"
            f" {Path(data['run']) / 'report.html'} (this call took {duration(data['seconds'])})."
        )
    )
    return "\n".join(lines)


def _ours(row: dict[str, Any]) -> str:
    """What was found, in the terms in which the paper states it: counts of seeds, per cent of the gap."""
    from hyst_interp.cli.tables import estimate_text, number

    estimate, low, high = (row[name] for name in ("estimate", "low", "high"))
    if estimate is None:
        return "undefined"
    if low is None or high is None:
        return f"{estimate:.4g}\n(no interval)"
    if row["unit"] == "share of seeds":
        return f"{round(estimate * row['n'])} of {row['n']}\n[{low:.0%}, {high:.0%}]"
    if row["unit"] == "share of the gap":
        return f"{100 * estimate:.1f} %\n[{number(100 * low, 1)}, {number(100 * high, 1)}] %"
    if row["unit"] == "correlation":
        return f"{estimate:.5f}\n[{low:.5f}, {high:.5f}]"
    return estimate_text(row).replace(" [", "\n[", 1)
