"""Where the memory is, on the page: chapters by what the run has, planted answers, controls, equal numbers."""

import re
from dataclasses import replace
from html import unescape
from importlib import import_module

import numpy as np
import pytest
from planted_memory import GAP, LARGEST, SHARE, WEIGHTS

from hyst_interp.questions.edges.of_run import graph, names
from hyst_interp.questions.edges.summary import named_gap_edge_table
from hyst_interp.questions.information.answer import survives
from hyst_interp.questions.information.of_run import information
from hyst_interp.questions.information.summary import estimator_rows
from hyst_interp.questions.transplant.answer import decisive, larger_part
from hyst_interp.questions.transplant.controls import own_against_run
from hyst_interp.questions.transplant.of_run import transplanted
from hyst_interp.report import wording
from hyst_interp.report.answers import UNDETERMINED, carriers
from hyst_interp.report.chapters import chapters, memory
from hyst_interp.report.chapters.memory import answers
from hyst_interp.report.page import page, write_report
from hyst_interp.report.run_results import RunResults, read_run
from hyst_interp.report.verdict import verdict
from hyst_interp.statistics import Estimate, student_t, undefined
from hyst_interp.storage.run import Run

FILES = {
    "transplant": ("transplant",),
    "weights": ("weights",),
    "shapley": ("shapley-donor", "shapley-own-mean"),
    "information": ("information",),
    "crossing": ("crossing-resid_pre", "crossing-result", "crossing-mlp_out", "ladder", "mechanism"),
    "edges": ("routes", "routes-gap", "circuits", "attribution"),
}
"""Chapter → the results that it reads."""
TURNED = ("margin", "shapley", "first", "last", "gap", "value", "interaction")
"""Variables that carry the gap's sign."""


@pytest.fixture(scope="module")
def located(planted_run) -> tuple[RunResults, str]:
    """A planted run of four seeds, and the words of its report."""
    study, root = planted_run(seeds=[0, 1, 2, 3], memory=True)
    write_report(study, root, "report", "f" * 64)
    return read_run(study, root), words_of((root / "report.html").read_text("utf-8"))


def words_of(text: str) -> str:
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", re.sub(r"</(td|th|p|h\d|span|div|tr)>", " ", text))))


def interval(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, 0.95, "planted", "logits", 4)


def test_chapters_stand_together_and_the_answers_first(located):
    source, _ = located
    made = re.findall(r'<section id="(\w+)">', source.run.report.read_text("utf-8"))
    start = made.index("memory")
    assert start == 1
    first = made.index("transplant")
    assert made[first : first + 6] == [*FILES]
    assert made.index("similarity") < first < made.index("anchors")


def without(source: RunResults, *names: str) -> RunResults:
    return replace(source, results={name: one for name, one in source.results.items() if name not in names})


@pytest.mark.parametrize("key", FILES)
def test_a_chapter_is_left_out_where_its_results_are_missing(located, key):
    source, _ = located
    chapter = import_module(f"hyst_interp.questions.{key}.chapter").chapter
    assert chapter(without(source, *FILES[key])) is None
    asked = len(answers(without(source, *FILES[key])))
    assert asked == {"information": 5, "crossing": 5, "shapley": 3}.get(key, 4)


def test_nothing_looked_for_is_no_answer(located):
    source, _ = located
    bare = without(source, *(name for names in FILES.values() for name in names))
    assert answers(bare) == []
    assert memory.chapter(bare) is None


def test_a_transient_says_whether_its_place_was_asked_for(located):
    source, _ = located
    behaviour = source.results["behaviour"].copy(deep=True)
    behaviour["margin"].loc[{"hold": source.last_hold}] = 0
    asked = replace(source, results=source.results | {"behaviour": behaviour})
    assert "is asked below" in verdict(asked).reasons[-1]
    assert "is not asked here" in verdict(without(asked, "transplant")).reasons[-1]


def test_results_of_one_kind_alone_still_make_their_chapter(located):
    source, _ = located
    some = without(
        source, "shapley-own-mean", "crossing-resid_pre", "crossing-mlp_out", "mechanism", "circuits", "attribution"
    )
    text = page(some, chapters(some))
    assert {f'id="{key}"' for key in ("shapley", "crossing", "edges")} <= set(re.findall(r'id="\w+"', text))


def test_planted_answers_are_found(located):
    source, text = located
    found = {one.question: one for one in answers(source)}
    assert found["In the optimizer, or in the weights?"].answer == "mostly the weights"
    assert found["In which weights?"].answer.startswith("MLP in")
    assert found["In which component?"].answer.startswith("L0 heads")
    assert found["On which edges?"].answer == "L0 heads → L1 heads, value"
    assert found["Does it survive another estimator?"].answer == "yes"
    for one in found.values():
        for words in (one.question, one.answer, one.words, one.control):
            assert words in text
    assert "5 of 5 are answered" in text


def test_a_gap_of_none_answers_nothing(located):
    """The negative control: signs of the gap that differ from seed to seed leave every question open."""
    source, _ = located
    results = dict(source.results)
    for name in ("transplant", "weights", "shapley-donor", "shapley-own-mean", "information", "routes-gap"):
        one = results[name]
        signs = (one["seed"] % 2 * 2.0 - 1).astype("float64")
        results[name] = one.assign({key: one[key] * signs for key in one.data_vars if str(key).startswith(TURNED)})
    found = answers(replace(source, results=results))
    assert [one.answer for one in found] == [UNDETERMINED] * 5


def test_the_transplant_divides_the_gap_as_planted(located):
    source, text = located
    last = source.once(transplanted)[-1]
    assert last["weights"].estimate == pytest.approx(WEIGHTS, abs=0.01)
    assert last["optimizer"].estimate == pytest.approx(GAP - WEIGHTS, abs=0.01)
    for name in ("gap", "weights", "optimizer", "moments: first moment", "weights_share"):
        assert wording.estimate(last[name]) in text
    margin = source.results["transplant"]["margin"].sel(update=5).mean(["order", "trial"])
    own = margin.sel(optimizer="own")
    gaps = (own.sel(weights="below") - own.sel(weights="above")).values
    assert wording.estimate(student_t(gaps, "logits")) in text


def test_every_control_is_told_with_its_size(located):
    source, text = located
    run = own_against_run(source.results["transplant"], source.results["trajectory"])
    assert run is not None
    for told in (
        "every state of one history gives the same margins, largest difference 0 exactly",
        f"both measured, the largest difference of a margin is {wording.size(run[0])}",
        "All weights moved are the other network: the largest difference of a margin is 0 exactly",
        "values add up to the gap: trial by trial, the largest difference is ",
        "the remainder is 0 in a linear network",
        "into itself leaves its logits (largest difference 0 exactly)",
        "moving everything gives the donor’s (0 exactly)",
        "by another way of computing: the largest difference of a margin is 0 exactly",
        "largest difference from 0: 0 exactly), and all edges kept the clean one (from 1: 0 exactly)",
        "random rankings are the floor",
    ):
        assert told in text, told


def test_weights_players_and_estimators_are_the_results(located):
    source, text = located
    margin, after = (source.results["weights"][name] for name in ("margin", "margin_after"))
    index = int(
        np.flatnonzero(
            (source.results["weights"]["name"] == "MLP in") & (source.results["weights"]["level"] == "family")
        )[0]
    )
    one = after.sel(move="one").isel(group=index)
    sides = [(margin - one).sel(branch=branch).mean(["order", "trial"]).values for branch in ("below", "above")]
    expected = student_t((sides[0] - sides[1]) / 2, "logits")
    assert expected.estimate == pytest.approx(SHARE * GAP, abs=0.01)
    assert wording.estimate(expected) in text
    for game in ("donor", "own-mean"):
        values = source.results[f"shapley-{game}"]["shapley"].sel(player="L0H0").mean(["order", "trial"]).values
        assert values.mean() == pytest.approx(SHARE * GAP, abs=0.01)
        assert wording.estimate(student_t(values, "logits")) in text
    assert "urely working with others: L1H1 and L0MLP" in text
    assert "Trusted: parts moved: " in text
    trusted = {row["components"] for row in estimator_rows(source.once(information)) if row["verdict"] == "trusted"}
    assert "heads" in trusted
    assert "their parts were compared" in text


def test_the_mechanism_that_stays_is_later(located):
    _, text = located
    assert "by root mean squares over trials, of 6 comparisons: 2 later and 4 together" in text


def test_the_planted_edge_is_the_first_and_its_number_the_results(located):
    source, text = located
    table = named_gap_edge_table(source.results["routes-gap"], source.once(names), source.once(graph))
    largest = table["estimate"].sel(quantity="moved")
    assert str(largest["edge"].values[int(np.abs(largest.values).argmax())]) == LARGEST
    found = source.results["routes-gap"].sel(edge=LARGEST)
    below, above = (
        (found["margin"] - found["margin_after"]).sel(branch=branch).mean(["order", "trial"]).values
        for branch in ("below", "above")
    )
    assert wording.estimate(student_t((below - above) / 2, "logits")) in text
    n = source.results["circuits"].sizes["edge"]
    assert f"{n // 2}.0 [{n // 2}.0, {n // 2}.0] {n // 2 + 2}.0" in text
    assert "−2.0 [−2.0, −2.0]" in text


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.6, 0.9, "mostly the weights"),
        (0.1, 0.4, "mostly the optimizer"),
        (0.4, 0.9, UNDETERMINED),
        (1.1, 1.3, "mostly the weights"),
    ],
)
def test_the_larger_part_lies_on_one_side_of_one_half(low, high, word):
    assert larger_part(interval(low, high)) == word


def test_rules_of_answers():
    assert larger_part(undefined("the denominator may be 0", "share of the gap", 3)) == UNDETERMINED
    named = [
        ("a", interval(0.1, 0.2)),
        ("b", interval(-0.1, 0.2)),
        ("c", interval(-0.9, -0.8)),
        ("d", interval(0.4, 0.5)),
    ]
    assert [name for name, _ in carriers(named, interval(0.2, 0.4))] == ["d", "a"]
    assert [name for name, _ in carriers(named, interval(-0.4, -0.2))] == ["c"]
    assert carriers(named, interval(-0.4, 0.2)) == []
    up, down, none = interval(0.1, 0.2), interval(-0.2, -0.1), interval(-0.1, 0.1)
    assert survives([(up, up), (none, down)])[0] == "yes"
    assert survives([(up, up), (up, down)])[0] == "no"
    assert survives([(none, down)])[0] == UNDETERMINED
    assert survives([(up, up), (none, down), (up, none)])[0] == UNDETERMINED
    assert survives([])[0] == UNDETERMINED
    rows = [{"updates": 0, "gap": interval(0.8, 0.9)}, {"updates": 1, "gap": none}, {"updates": 5, "gap": down}]
    assert decisive(rows) is rows[2]
    assert decisive(rows[:2]) is None


@pytest.mark.parametrize(
    ("value", "words"), [(0.0, "0 exactly"), (2.6e-7, "3 · 10⁻⁷"), (None, "not measured"), (0.02, "2 · 10⁻²")]
)
def test_the_size_of_a_control_in_words(value, words):
    assert wording.size(value) == words


def test_figures_are_small(located):
    source, _ = located
    sizes = {path.stem: path.stat().st_size for path in Run(source.run.root).figures.glob("*.html")}
    names = {"transplant", "weights", "shapley-donor", "information", "crossing-resid_pre", "ladder", "mechanism"}
    names |= {"routes-gap", "routes-value", "routes-rename", "edge-map-gap", "faithfulness", "attribution"}
    assert names <= sizes.keys()
    assert max(sizes.values()) < 200_000
