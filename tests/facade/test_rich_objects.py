"""What Pair, Checkpoint, Schedule and Trials show of themselves: true, small, escaped, without running a network."""

import xml.etree.ElementTree as Tree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import hyst_interp as hi
from hyst_interp.config import ScheduleConfig, SetUp
from hyst_interp.history.schedule import Schedule, exposure_digest, hold_schedule, paired_schedules
from hyst_interp.history.state import TrainingState
from hyst_interp.storage.checkpoint import Checkpoint, load, save
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials

ROOM = 8_000
"""Bytes that an object may show of itself."""


class Balanced(HTMLParser):
    """Refuses what loads or runs something, and tags that do not close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "img", "link", "iframe", "style")
        assert not [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]
        if tag not in ("br", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "path":
            assert self.open.pop() == tag


def check_html(shown) -> str:
    text = shown._repr_html_()
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert len(text.encode()) < ROOM
    return text


@pytest.fixture(scope="module")
def two(
    tmp_path_factory: pytest.TempPathFactory, small_branches: dict[str, TrainingState]
) -> tuple[Checkpoint, Checkpoint]:
    root = tmp_path_factory.mktemp("rich")
    for branch, state in small_branches.items():
        save(state, root / branch, optimizer=branch == "below")
    return load(root / "below"), load(root / "above")


@pytest.fixture(scope="module")
def some(small_setup: SetUp) -> Trials:
    return task_of(small_setup).trials(hi.Stream("evaluation", 1), 20)


def planted(some: Trials) -> Trials:
    """One prompt, by hand: k5→v0 k3→v6 k1→v1 k3→?"""
    one = some.take(slice(0, 1))
    tokens = np.array([[5, 6, 3, 12, 1, 7, 3]])
    return replace(
        one,
        tokens=tokens,
        query=np.array([3]),
        contextual=np.array([12]),
        fixed=np.array([8]),
        queried_pair=tokens[0, :1],
    )


def test_a_trial_reads_as_a_sentence(some):
    one = planted(some)
    assert one.sentence(0) == "k3→v6 … k3→?  contextual v6, fixed v2"
    assert one.prompt(0) == "k5→v0 k3→v6 k1→v1 k3→?"
    assert one.sentence(0) in repr(one)
    assert one.sentence(0) in check_html(one)
    assert one.prompt(0) in one._repr_html_()


def test_a_single_pair_has_no_others(some):
    one = planted(some)
    alone = replace(one, tokens=one.tokens[:, [2, 3, 6]], roles=one.roles[:, [2, 3, 6]])
    assert alone.sentence(0).startswith("k3→v6 k3→?  ")


def test_many_trials_show_the_first_eight_and_count_the_rest(some):
    assert len(repr(some).splitlines()) == 10
    assert "12 more" in repr(some)
    assert check_html(some).count("<tr>") == 9
    assert "12 more" in some._repr_html_()
    assert "more" not in repr(some.take(slice(0, 8)))
    assert check_html(some.take(slice(0, 0)))


def test_a_schedule_shows_its_length_hashes_and_picture():
    one = paired_schedules(ScheduleConfig(levels=2, dwell=5), 0.5)["below"]
    text = check_html(one)
    assert f"{len(one)} updates" in text
    assert one.digest() in text
    assert exposure_digest(one) in text
    assert one.digest()[:12] in repr(one)
    svg = Tree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    line = svg.findall("{http://www.w3.org/2000/svg}path")[1].attrib["d"]
    assert line.count("H") == len(np.flatnonzero(np.diff(one.p))) + 1


@pytest.mark.parametrize("updates", [0, 1, 5000])
def test_any_schedule_has_a_small_picture(updates):
    check_html(hold_schedule(updates, 0.5))
    random = np.random.default_rng(0).uniform(0.1, 0.9, updates)
    wild = Schedule(random, np.arange(updates), "<excursion>", 0.5)
    assert "<excursion>" not in wild._repr_html_()
    assert len(wild._repr_html_()) < 12_000


def test_a_checkpoint_shows_its_place_and_what_it_keeps(two):
    for checkpoint, kept in zip(two, ("optimizer moments", "no optimizer"), strict=True):
        text = check_html(checkpoint)
        place = checkpoint.provenance
        for word in (f"from {place.branch}", f"{place.step:,} since", checkpoint.manifest.weights, kept):
            assert word in text
    assert "weights and optimizer" in repr(two[0])
    assert "weights only" in repr(two[1])


def test_paths_are_escaped(two):
    odd = replace(two[0], directory=Path("<b>/runs"))
    assert "<b>/runs" not in odd._repr_html_()
    assert "&lt;b&gt;/runs" in odd._repr_html_()


def test_a_pair_shows_its_gap_only_where_it_is_known(two, monkeypatch):
    pair = hi.Pair(*two, trials=32, seed=None, anchor=None)
    monkeypatch.setattr("hyst_interp.analysis.histories.PairData", None)
    monkeypatch.setattr(Checkpoint, "model", None)
    assert "gap not measured yet" in repr(pair)
    text = check_html(pair)
    assert "gap not measured yet" in text
    for checkpoint in two:
        assert checkpoint.manifest.weights in text
    monkeypatch.undo()
    gap = pair.gap()
    monkeypatch.setattr("hyst_interp.questions.gap.measure.pair_behaviour", None)
    assert gap.text() in repr(pair)
    assert gap.text() in check_html(pair)


def test_an_exploration_needs_a_trial(two, one_sentence):
    pair = hi.Pair(*two, trials=32, seed=None, anchor=None)
    with pytest.raises(hi.UserError) as error:
        pair.exploration(0)
    one_sentence(error.value, "0")
    found = pair.exploration(2)
    assert found.sizes["trial"] == 2
    assert "from below" in found.attrs["below"]
