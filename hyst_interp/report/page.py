"""The report as files: `report.html` with everything in it, and `figures/` with one small page a figure.

Neither loads anything from a network: plotly.js stands once inside the report, and once as a file beside the figures.
The same results give the same bytes: element ids are the figures' names, and there is no clock, path, or chance.
"""

import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plotly.offline import get_plotlyjs

from hyst_interp.config import StudyConfig
from hyst_interp.config.study import load_study, presets
from hyst_interp.figures.theme import CONFIG
from hyst_interp.history.convergence import ANSWER_MASS, DRIFT_TOLERANCE, MARGIN_TOLERANCE, WINDOW
from hyst_interp.report import tables, wording
from hyst_interp.report.blocks import Figure
from hyst_interp.report.drawings import figures
from hyst_interp.report.findings import Findings, at_holds, find
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
    found = find(study, root)
    drawn = figures(found, study)
    run = Run(root)
    with new_file(run.report) as part:
        part.write_text(page(study, found, drawn), "utf-8")
    with new_directory(run.figures) as directory:
        (directory / PLOTLY).write_text(get_plotlyjs(), "utf-8")
        for one in drawn:
            (directory / f"{one.name}.html").write_text(figure_page(one), "utf-8")
        write_stage(directory, kind, digest)


def page(study: StudyConfig, found: Findings, drawn: list[Figure]) -> str:
    """`report.html` as text."""
    by_name = {one.name: one for one in drawn}
    holds = at_holds(found.parts["margin"])
    return (
        _templates()
        .get_template("page.html")
        .render(
            study=study,
            found=found,
            figures=by_name,
            shown_maps=_shown_maps(by_name, study),
            further_maps=[
                name for name in by_name if name.startswith("map-") and name not in _shown_maps(by_name, study)
            ],
            tables=_tables(found, study),
            words=wording,
            arrival=holds[0],
            last_hold=study.holds[-1],
            mean_method=wording.method(holds[0]),
            command=command(study),
            criterion={
                "answer_mass": ANSWER_MASS,
                "margin": MARGIN_TOLERANCE,
                "drift": DRIFT_TOLERANCE,
                "window": WINDOW,
            },
            study_json=json.dumps(study.to_json(), indent=1, ensure_ascii=False),
            plotly=get_plotlyjs(),
            config=json.dumps(CONFIG),
        )
    )


def figure_page(one: Figure) -> str:
    """One figure as a small page that reads plotly.js from the file beside it."""
    return _templates().get_template("figure.html").render(figure=one, plotly=PLOTLY, config=json.dumps(CONFIG))


def command(study: StudyConfig) -> str:
    """The command that makes the run again: a preset by its name where the study is one, else its own `study.toml`."""
    if study.name in presets():
        preset = load_study(study.name)
        if preset.digest() == study.digest():
            return f"hyst-interp reproduce --preset {study.name}"
        if preset.replace(seeds=list(study.seeds)).digest() == study.digest():
            return f"hyst-interp reproduce --preset {study.name} --seeds {','.join(map(str, study.seeds))}"
    return f"hyst-interp reproduce --preset study.toml --out runs/{study.name}"


def _tables(found: Findings, study: StudyConfig) -> dict[str, tables.Table]:
    made = {
        "verdicts": tables.verdicts(found),
        "holds": tables.holds(found),
        "seeds": tables.seeds(found),
        "strata": tables.strata(found),
        "anchors": tables.anchors(found, study),
        "versions": tables.versions(found),
    }
    if 0 in found.replaced:
        made |= {
            "replacements": tables.replacements(found),
            "donors": tables.donors(found),
            "later": tables.later(found),
        }
    if found.likeness:
        made["similarity"] = tables.similarity(found)
    if found.dominant:
        made |= {"dominant": tables.dominant_heads(found), "gain": tables.gain(found)}
    return made


def _shown_maps(by_name: dict[str, Figure], study: StudyConfig) -> list[str]:
    """Maps on the page: every one but those of further seeds."""
    maps = [name for name in by_name if name.startswith("map-")]
    return [name for name in maps if "-seed-" not in name or name.endswith(f"-seed-{study.seeds[0]}")]


def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
