"""`trials`: a checkpoint's prompts with both answers as an .npz file, for anyone's own analysis."""

from typing import Annotated

import typer

from hyst_interp.cli.arguments import Format, Seed, at_least, check_seed, checkpoint, output_file
from hyst_interp.cli.output import Answer, check_format, schema


def trials(
    path: Annotated[
        str, typer.Argument(metavar="CKPT", help="Checkpoint whose task is asked; a branch stands for its hold-000.")
    ],
    n: Annotated[int, typer.Option("--n", metavar="N", help="Trials to write, counted after --conflict.")],
    out: Annotated[str, typer.Option("--out", metavar="FILE.npz", help="File to write.")],
    seed: Seed = None,
    conflict: Annotated[
        bool, typer.Option("--conflict", help="Only trials whose two answers differ; otherwise the input distribution.")
    ] = False,
    format: Format = "table",
) -> Answer:
    """Write trials: tokens, the contextual and the fixed answer, queried key, position labels.

    With --conflict these are the trials that attenuate and patch measure on. Token ids are keys from 0, then values.

    \b
    Example:
      hyst-interp trials checkpoints/seed-0/anchor --n 1000 --out trials.npz
    """
    check_format(format)
    at_least("--n", n, 1)
    check_seed(seed)
    file = output_file("--out", out, (".npz",))
    directory, manifest = checkpoint(path)

    from hyst_interp.storage.trials_file import write_trials
    from hyst_interp.streams import Stream
    from hyst_interp.tasks.registry import task_of

    # As comparison's evaluation_trials draws them, without its tensor library.
    stream = Stream("evaluation", manifest.setup.seed if seed is None else seed)
    drawn = task_of(manifest.setup).trials(stream, n, conflict)
    write_trials(drawn, file)
    columns = [*drawn.arrays(), "position_labels", "first_value", "d_vocab"]
    data = {
        "schema": schema("trials"),
        "trials": len(drawn),
        "conflict": conflict,
        "stream": stream.name,
        "columns": columns,
        "read": [str(directory)],
        "wrote": [str(file)],
    }
    kind = "conflict trials" if conflict else "trials of the input distribution"
    lines = [f"wrote    {file}: {len(drawn):,} {kind}", f"columns  {', '.join(columns[:6])},"]
    lines += [f"         {', '.join(columns[6:])}", f"stream   {stream.name}", f"read     {directory}"]
    return Answer(data, [data], lambda colour: "\n".join(lines), format)
