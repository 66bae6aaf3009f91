"""The report: one file without a network, the same bytes for the same results, and every number from the results."""

import json
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from hyst_interp.errors import UserError
from hyst_interp.questions.attenuation.of_run import replaced
from hyst_interp.questions.calibration import chapter as calibration
from hyst_interp.questions.gap.of_run import parts
from hyst_interp.questions.gap.relaxation import at_holds
from hyst_interp.questions.patching.chapter import named_maps
from hyst_interp.questions.similarity.of_run import engagements
from hyst_interp.report import page, wording
from hyst_interp.report.chapters import chapters, makers, template_of
from hyst_interp.report.chapters.reproduce import command
from hyst_interp.report.page import write_report
from hyst_interp.report.run_results import RunResults, read_run
from hyst_interp.report.verdict import kind, verdict
from hyst_interp.statistics import Estimate, equivalence, student_t, undefined
from hyst_interp.storage.results import read_results, write_results
from hyst_interp.storage.run import Run, stage_hash

MOST_BYTES = 15_000_000
LOCATED = ("transplant", "weights", "shapley", "information", "crossing", "edges")
"""Chapters that look for the memory; `memory` sums them up."""


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

    for name, planted in (("read_run", None), ("chapters", []), ("page", "planted")):
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
def found(planted_report) -> RunResults:
    return read_run(*planted_report)


def test_the_planted_effects_are_found(found):
    heads = next(
        row for row in found.once(replaced)[0].rows if (row["components"], row["reference"]) == ("heads", "own-mean")
    )
    assert heads["logits_moved"].estimate == pytest.approx(0.8 * found.once(replaced)[0].gap.estimate, abs=1e-6)
    engaged = found.once(engagements)["resid_pre", "role"]
    assert engaged.points["gain"].sel(kind="histories").values[:, 0] == pytest.approx([1.1, 1.1], abs=0.05)
    assert engaged.gain.estimate == pytest.approx(1.1, abs=0.05)
    assert at_holds(found.once(parts)["margin"])[0].estimate == pytest.approx(0.3, abs=0.05)
    split = found.once(parts)
    np.testing.assert_allclose(split["contextual_part"] + split["fixed_part"], split["margin"], atol=1e-6)


def test_the_difference_of_maps_is_the_arrays(found):
    for array in named_maps(found).values():
        below, above, difference = (array.sel(history=name).values for name in ("below", "above", "difference"))
        np.testing.assert_allclose(difference, below - above)


def test_one_seed_and_one_order_still_make_a_report(planted_run):
    patching = {"orders": 1, "trials": 64}
    study, root = planted_run(seeds=[4], orders=1, patching=patching, memory=True, localization={"orders": 1})
    write_report(study, root, "report", "0" * 64)
    text = plain((root / "report.html").read_text("utf-8"))
    assert "no interval" in text
    assert "not comparable" in text
    assert not re.search(r"\bnan\b", text, re.I)


def test_what_a_run_lacks_is_left_out_and_the_rest_stands(planted_run):
    study, root = planted_run(inside=False)
    write_report(study, root, "report", "0" * 64)
    whole = (root / "report.html").read_text("utf-8")
    made = [one.key for one in chapters(read_run(study, root))]
    assert not {"direct", "attention", "calibration", "memory", *LOCATED} & set(made)
    assert {"paper", "gap", "spread", "maps", "similarity", "reproduce"} <= set(made)
    assert "figure-map-position-value" in Elements(whole).ids


def test_twelve_seeds_make_one_page_within_its_size(planted_run):
    study, root = planted_run(seeds=list(range(12)), apart=5, memory=True, claims={"comparable": True})
    write_report(study, root, "report", "0" * 64)
    text = (root / "report.html").read_text("utf-8")
    assert len(text.encode()) < MOST_BYTES
    table = text[text.index('id="table-verdicts"') : text.index('id="schedule"')]
    assert "all 12 seeds" in table
    assert "seeds 0–4" in table
    content = json.loads((root / "results" / "claims.json").read_text("utf-8"))
    pairs = zip(content["rows"], content["apart"]["rows"], strict=True)
    badges = re.findall(r'class="verdict (\w+)"><span class="badge">', table)
    assert badges == [row["verdict"] for pair in pairs for row in pair]
    assert "smallest p that can be reached" in plain(text), "twelve seeds are not powerless"


def test_the_calibration_grid_is_shown_for_the_paper_alone(planted_run, planted_grid, tmp_path, monkeypatch):
    write_results(planted_grid, tmp_path / "grid.nc")
    monkeypatch.setattr(calibration, "GRID", tmp_path / "grid.nc")
    study, root = planted_run(name="paper", claims={"comparable": True})
    write_report(study, root, "report", "0" * 64)
    text = (root / "report.html").read_text("utf-8")
    assert 'id="figure-calibration"' in text
    assert "On arrival the gap is above 0 in 5 of 8 schedules by its mean" in plain(text)
    assert "after 100 shared updates" in plain(text).lower()
    tiny, other = planted_run()
    assert calibration.chapter(read_run(tiny, other)) is None


@pytest.mark.parametrize(
    ("arrival", "last", "word"),
    [
        ((0.1, 0.3), [0.001, -0.001, 0.002], "transient overshoot"),
        ((-0.3, -0.1), [0.001, -0.001, 0.002], "transient lag"),
        ((0.1, 0.3), [0.2, 0.21, 0.22], "persistent branch"),
        ((-0.3, -0.1), [-0.2, -0.21, -0.22], "persistent branch"),
        ((0.1, 0.3), [-0.2, -0.21, -0.22], "undetermined"),
        ((-0.1, 0.3), [0.001, -0.001, 0.002], "undetermined"),
        ((0.1, 0.3), [0.2, -0.3, 0.1], "undetermined"),
    ],
)
def test_the_verdict_follows_from_arrival_and_relaxation(arrival, last, word):
    found = Estimate(sum(arrival) / 2, *arrival, 0.95, "planted", "logits", 3)
    assert kind(found, equivalence(last, 0.02)) == word


def test_no_interval_is_no_verdict():
    alone = Estimate(0.3, None, None, 0.95, "planted", "logits", 1, "one value")
    assert kind(alone, equivalence([0.0, 0.0], 0.02)) == "undetermined"


def test_the_sentence_stands_at_the_top_with_its_reasons(planted_report):
    study, root = planted_report
    text = unescape(plain((root / "report.html").read_text("utf-8")))
    made = verdict(read_run(study, root))
    head = text[: text.index("The paper and this run")]
    assert made.sentence in head
    for reason in made.reasons:
        assert reason in text
    assert "cannot fall below p = 0.5" in text, "two seeds: said beside the verdict"
    assert "the opposite of lag" in text


def test_every_number_of_the_new_chapters_is_of_the_results(planted_report):
    _, root = planted_report
    text = plain((root / "report.html").read_text("utf-8"))
    data = read_results(Run(root).results / "direct.nc")["direct"].astype("float64")
    terms = (data.sel(branch="below") - data.sel(branch="above")).mean(["order", "trial"])
    assert wording.estimate(student_t(terms.sum("term").values, "logits")) in text
    for term in ("L0H0", "L1MLP"):
        assert wording.estimate(student_t(terms.sel(term=term).values, "logits")) in text
    attention = read_results(Run(root).results / "attention.nc")["attention"].isel(seed=0).mean(["order", "trial"])
    largest = float((attention.sel(branch="below") - attention.sel(branch="above")).max())
    assert f"The largest difference between the histories is {wording.number(largest)}, of L1H1" in text
    assert "powerless" in text


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
    assert {path.name for path in home.glob("*.html")} >= {"page.html", "figure.html", "draw.html", "blocks.html"}
    assert all(template_of(make).is_file() for make in makers())
    questions = home.parent / "questions"
    written = {*(home / "chapters").glob("*.html"), *questions.glob("*/*.html")}
    assert written == {template_of(make) for make in makers()}


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
