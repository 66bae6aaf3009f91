"""The report as files: `report.html` with everything in it, and `figures/` with one small page a figure.

Neither loads anything from a network: plotly.js stands once inside the report, and once as a file beside the figures.
The same results give the same bytes: element ids are the figures' names, and there is no clock, path, or chance.
"""

import json
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, FunctionLoader, StrictUndefined
from plotly.offline import get_plotlyjs

from hyst_interp.config import StudyConfig
from hyst_interp.plots.theme import CONFIG
from hyst_interp.report import wording
from hyst_interp.report.blocks import Chapter, Figure
from hyst_interp.report.chapters import chapters
from hyst_interp.report.run_results import RunResults, read_run
from hyst_interp.report.verdict import verdict
from hyst_interp.storage.atomic import new_directory, new_file
from hyst_interp.storage.run import Run, write_stage

HERE = Path(__file__).resolve().parent
PLOTLY = "plotly.min.js"


def write_report(study: StudyConfig, root: Path, kind: str, digest: str) -> None:
    """Write `report.html`, then `figures/` with its `stage.json`, of a run whose results are whole.

    The report comes first: the stage counts as done when `figures/stage.json` is there.

    Raises:
        UserError: results that are missing or cannot be read.
    """
    source = read_run(study, root)
    made = chapters(source)
    run = Run(root)
    with new_file(run.report) as part:
        part.write_text(page(source, made), "utf-8")
    with new_directory(run.figures) as directory:
        (directory / PLOTLY).write_text(get_plotlyjs(), "utf-8")
        for drawn in (figure for chapter in made for figure in chapter.figures):
            (directory / f"{drawn.name}.html").write_text(figure_page(drawn), "utf-8")
        write_stage(directory, kind, digest)


def page(source: RunResults, made: list[Chapter]) -> str:
    """`report.html` as text."""
    return (
        _templates()
        .get_template("page.html")
        .render(
            study=source.study,
            chapters=made,
            verdict=verdict(source),
            words=wording,
            last_hold=source.last_hold,
            plotly=get_plotlyjs(),
            config=json.dumps(CONFIG),
        )
    )


def figure_page(one: Figure) -> str:
    """One figure as a small page that reads plotly.js from the file beside it."""
    return _templates().get_template("figure.html").render(figure=one, plotly=PLOTLY, config=json.dumps(CONFIG))


def _templates() -> Environment:
    return Environment(
        loader=ChoiceLoader([FileSystemLoader(HERE), FunctionLoader(_chapter)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _chapter(path: str) -> str | None:
    """A chapter's template, which stands with its question, by the path of its file."""
    file = Path(path)
    return file.read_text("utf-8") if file.is_absolute() and file.is_file() else None
