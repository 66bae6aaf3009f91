"""`toy`: the toy's command."""

from hyst_interp.cli.arguments import Format, RunDirectory, finished_run
from hyst_interp.cli.output import Answer, check_format, schema


def toy(run: RunDirectory, format: Format = "table") -> Answer:
    """Say how wide the margins of a run scatter.

    \b
    Example:
      hyst-interp toy runs/paper
    """
    check_format(format)
    found, _ = finished_run(run, ("toy",))
    from hyst_interp.storage.results import read_results

    width = float(read_results(found.results / "toy.nc")["width"].mean())
    return Answer({"schema": schema("toy"), "width": width}, [{"width": width}], lambda colour: f"{width:.3f}", format)
