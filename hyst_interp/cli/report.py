"""`report`: write a finished run's report and figures again, from its results."""

from hyst_interp.cli.arguments import Format, RunDirectory, finished_run
from hyst_interp.cli.output import Answer, check_format, schema


def report(run: RunDirectory, format: Format = "table") -> Answer:
    """Write report.html and the figures of a finished run again, from its results; nothing is trained or measured.

    \b
    Example:
      hyst-interp report runs/paper
    """
    check_format(format)
    finished, _ = finished_run(run, ("behaviour", "trajectory"))

    from hyst_interp.study.reproduce import remake_report

    page = remake_report(finished.root)
    read = [str(path) for path in sorted(finished.results.glob("*.nc"))]
    wrote = [str(page), *(str(path) for path in sorted(finished.figures.glob("*.html")))]
    data = {"schema": schema("report"), "read": read, "wrote": wrote}
    rows = [{"action": action, "file": file} for action in ("read", "wrote") for file in data[action]]
    return Answer(data, rows, lambda colour: "\n".join(f"{r['action']:<6} {r['file']}" for r in rows), format)
