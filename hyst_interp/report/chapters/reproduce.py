"""How to make it again: the command, the versions, the study."""

import json

from hyst_interp.config import StudyConfig
from hyst_interp.config.study import load_study, presets
from hyst_interp.report.blocks import Cell, Chapter, Table, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.storage.manifest import read_manifest


def chapter(source: RunResults) -> Chapter:
    """Always there."""
    versions = read_manifest(source.run.anchor(source.study.seeds[0]))[1].versions
    rows = [cells(Cell(name, kind="lead"), version) for name, version in sorted(versions.items())]
    table = Table("Versions that wrote the first anchor", ("library", "version"), rows)
    content = json.dumps(source.study.to_json(), indent=1, ensure_ascii=False)
    words = {"command": command(source.study), "study_json": content}
    return Chapter("reproduce", "How to make it again", "Make it again", {"versions": table}, [], words)


def command(study: StudyConfig) -> str:
    """The command that makes the run again: a preset by its name where the study is one, else its own `study.toml`."""
    if study.name in presets():
        preset = load_study(study.name)
        if preset.digest() == study.digest():
            return f"hyst-interp reproduce --preset {study.name}"
        if preset.replace(seeds=list(study.seeds)).digest() == study.digest():
            return f"hyst-interp reproduce --preset {study.name} --seeds {','.join(map(str, study.seeds))}"
    return f"hyst-interp reproduce --preset study.toml --out runs/{study.name}"
