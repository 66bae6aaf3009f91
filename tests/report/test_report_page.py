"""The report: one file without a network, the same bytes for the same results, and every number from the results."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from hyst_interp.errors import UserError
from hyst_interp.report import page, wording
from hyst_interp.report.findings import Findings, at_holds, find
from hyst_interp.report.page import command, write_report
from hyst_interp.statistics import Estimate, student_t, undefined
from hyst_interp.storage.results import read_results
from hyst_interp.storage.run import Run, stage_hash

MOST_BYTES = 15_000_000


class Elements(HTMLParser):
    """Ids, and everything that a page would load or link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name == "src" or (name == "href" and tag != "a"):
                self.loads.append(value)
            elif name == "href":
                self.links.append(value)


def plain(text: str) -> str:
    """The words of a page, without scripts, styles, and tags."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_the_report_loads_nothing_and_its_ids_are_unique(planted_report):
    text = (planted_report[1] / "report.html").read_text("utf-8")
    found = Elements(text)
    assert found.loads == []
    assert len(found.ids) == len(set(found.ids))
    assert text.count("plotly.js v") == 1
    assert len(text.encode()) < MOST_BYTES
    for link in found.links:
        assert link.removeprefix("#") in found.ids or (planted_report[1] / link).is_file(), link


def test_every_figure_is_a_small_page_beside_one_plotly(planted_report):
    figures = planted_report[1] / "figures"
    pages = sorted(figures.glob("*.html"))
    text = (planted_report[1] / "report.html").read_text("utf-8")
    assert {f"figure-{path.stem}" for path in pages} >= {
        i for i in Elements(text).ids if re.fullmatch(r"figure-.*(?<!-data)", i)
    }
    assert len(pages) > 8
    for path in pages:
        assert path.stat().st_size < 200_000
        assert Elements(path.read_text("utf-8")).loads == ["plotly.min.js"]
    assert (figures / "plotly.min.js").stat().st_size > 1_000_000
    assert stage_hash(figures) == "f" * 64
    assert {path.suffix for path in figures.iterdir()} == {".html", ".js", ".json"}


def test_two_writes_give_equal_bytes(planted_report, tmp_path):
    study, root = planted_report
    other = tmp_path / "a" / "b"
    shutil.copytree(root, other, ignore=shutil.ignore_patterns("figures", "report.html"))
    write_report(study, other, "report", "f" * 64)
    for path in [root / "report.html", *sorted((root / "figures").iterdir())]:
        assert path.read_bytes() == (other / path.relative_to(root)).read_bytes(), path.name
    text = (other / "report.html").read_text("utf-8")
    assert str(tmp_path) not in text


def test_the_report_stands_before_the_stage_counts_as_done(planted_run, monkeypatch):
    study, root = planted_run()

    def fail(*_):
        raise RuntimeError("planted")

    for name, planted in (("find", None), ("figures", []), ("page", "planted")):
        monkeypatch.setattr(page, name, lambda *_, planted=planted: planted)
    monkeypatch.setattr(page, "write_stage", fail)
    with pytest.raises(RuntimeError, match="planted"):
        write_report(study, root, "report", "f" * 64)
    assert (root / "report.html").is_file()
    assert not (root / "figures").exists()


def test_gaps_on_the_page_are_those_of_the_results(planted_report):
    study, root = planted_report
    margin = read_results(Run(root).results / "behaviour.nc")["margin"].astype("float64")
    gap = (margin.sel(branch="below") - margin.sel(branch="above")).mean(["trial", "order"])
    text = plain((root / "report.html").read_text("utf-8"))
    for hold in study.holds:
        values = gap.sel(hold=hold).values
        assert wording.estimate(student_t(values, "logits")) in text
        for value in values:
            assert wording.number(float(value)) in text


def test_every_claim_stands_with_its_verdict_in_words(planted_report):
    _, root = planted_report
    text = (root / "report.html").read_text("utf-8")
    rows = json.loads((root / "results" / "claims.json").read_text("utf-8"))["rows"]
    table = text[text.index('id="table-verdicts"') : text.index('id="schedule"')]
    badges = re.findall(r'class="verdict (\w+)"><span class="badge">([^<]+)</span>', table)
    assert badges == [(row["verdict"], row["verdict"]) for row in rows]
    assert table.count(">calibrated<") == 1
    assert table.count(">free<") == len(rows) - 1


def test_both_exposures_and_schedules_are_shown(planted_report):
    _, root = planted_report
    text = plain((root / "report.html").read_text("utf-8"))
    attrs = read_results(Run(root).results / "trajectory.nc").attrs
    for name in ("schedule_below", "schedule_above", "exposure"):
        assert attrs[name] in text
    assert "it is this one for both branches" in text
    for words in ("exact null", "opposite of lag", "Student-t", "4.5.6"):
        assert words in text


@pytest.fixture(scope="module")
def found(planted_report) -> Findings:
    return find(*planted_report)


def test_the_planted_effects_are_found(found):
    heads = next(
        row for row in found.replaced[0].rows if (row["components"], row["reference"]) == ("heads", "own-mean")
    )
    assert heads["logits_moved"].estimate == pytest.approx(0.8 * found.replaced[0].gap.estimate, abs=1e-6)
    slopes = [by_twin["value"]["slope"] for by_twin in found.gains["resid_pre"].values()]
    assert slopes == pytest.approx([1.1, 1.1], abs=0.05)
    assert at_holds(found.parts["margin"])[0].estimate == pytest.approx(0.3, abs=0.05)
    parts = found.parts
    np.testing.assert_allclose(parts["contextual_part"] + parts["fixed_part"], parts["margin"], atol=1e-6)


def test_the_difference_of_maps_is_the_arrays(found):
    for array in found.maps.values():
        below, above, difference = (array.sel(history=name).values for name in ("below", "above", "difference"))
        np.testing.assert_allclose(difference, below - above)


def test_one_seed_and_one_order_still_make_a_report(planted_run):
    patching = {"orders": 1, "trials": 64}
    study, root = planted_run(seeds=[4], orders=1, patching=patching)
    write_report(study, root, "report", "0" * 64)
    text = plain((root / "report.html").read_text("utf-8"))
    assert "no interval" in text
    assert "not comparable" in text
    assert not re.search(r"\bnan\b", text, re.I)


def test_results_that_are_missing_are_refused(planted_run, tmp_path, one_sentence):
    study, root = planted_run()
    broken = tmp_path / "run"
    shutil.copytree(root, broken, ignore=shutil.ignore_patterns("figures", "report.html"))
    (broken / "results" / "claims.json").unlink()
    with pytest.raises(UserError) as error:
        write_report(study, broken, "report", "0" * 64)
    one_sentence(error.value, "claims.json", "--resume")
    assert not (broken / "report.html").exists()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "hyst-interp reproduce --preset tiny"),
        ({"seeds": [1, 2]}, "hyst-interp reproduce --preset tiny --seeds 1,2"),
        ({"p0": 0.45}, "hyst-interp reproduce --preset study.toml --out runs/tiny"),
    ],
)
def test_the_command_makes_the_same_study(changes, expected):
    from hyst_interp.config.study import load_study

    assert command(load_study("tiny").replace(**changes)) == expected


def test_templates_are_package_data():
    home = Path(page.__file__).parent
    assert {path.name for path in home.glob("*.html")} >= {"page.html", "figure.html", "draw.html"}


@pytest.mark.parametrize(
    ("ends", "words"),
    [((0.1, 0.3), "opposite of lag"), ((-0.3, -0.1), "less contextual"), ((-0.1, 0.3), "not determined")],
)
def test_a_direction_follows_from_the_interval_alone(ends, words):
    assert words in wording.direction(Estimate(sum(ends) / 2, *ends, 0.95, "planted", "logits", 5))


def test_numbers_in_words():
    assert wording.estimate(Estimate(-0.0976, -0.2, 0.011, 0.95, "m", "logits", 5)) == "−0.098 [−0.200, +0.011]"
    assert wording.estimate(Estimate(0.8, 0.28, 0.99, 0.95, "m", "share of seeds", 5)) == "4 of 5 [0.28, 0.99]"
    near = Estimate(0.99993, 0.99897, 0.999996, 0.95, "m", "correlation", 5)
    assert wording.estimate(near) == "0.99993 [0.99897, > 0.99999]"
    unknown = undefined("its mean is -0.05 [-0.8, +0.7]", "share of the gap", 2)
    assert wording.estimate(unknown) == "undefined"
    assert wording.reason(unknown) == "its mean is −0.05 [−0.8, +0.7]"
    assert "unbounded" in wording.estimate(Estimate(1.2, None, None, 0.95, "m", "ratio", 3, shape="unbounded"))
