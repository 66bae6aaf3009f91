"""The benchmark is fair: peers give our results, differing results fail, and the README shows what was measured."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import __main__ as command
from benchmarks import peers, stages
from benchmarks.pairs import Measure, compare, wait_for_quiet
from benchmarks.table import END, LATEST, START, details, shown_in, table
from benchmarks.training import margins, script
from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config import SetUp
from hyst_interp.history.advance import advance
from hyst_interp.history.measured import measured
from hyst_interp.history.schedule import hold_schedule
from hyst_interp.history.state import TrainingState
from hyst_interp.interventions.patching import patching_map
from hyst_interp.model import query_forward
from hyst_interp.model.plain_build import covers_model
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.questions.gap.measure import behaviour
from hyst_interp.tasks.registry import task_of

ROOT = Path(__file__).parents[2]


def test_the_training_peer_trains_the_same_network(small_anchor: TrainingState) -> None:
    start = replace(small_anchor, moments={}, step=0, branch="below", order=0)
    steps = hold_schedule(20, 0.5)
    ours, (theirs,) = advance(start, steps), script([start], len(steps), 1)
    np.testing.assert_allclose(margins(start, ours.weights), margins(start, theirs), atol=1e-4)
    assert np.abs(margins(start, start.weights) - margins(start, theirs)).max() > 0.01  # the control: it trains


def test_the_patching_peers_give_the_same_maps(small_pair: PairData, small_setup: SetUp) -> None:
    trials = task_of(small_setup).twin(small_pair.trials.take(slice(0, 40)), "value")
    for site, peer in (("resid_pre", peers.residual_map), ("result", peers.head_map)):
        found = patching_map(small_pair.below, trials, site, "denoise", "position")
        ours = (found["effect"] + found["base"]).mean("trial").values
        ours = ours[:2] if site == "resid_pre" else ours.transpose(0, 2, 1)
        np.testing.assert_allclose(ours, peer(small_pair.below, trials).numpy(), atol=1e-4)


def test_plain_paths_are_plain_and_end(small_pair: PairData, small_anchor: TrainingState) -> None:
    """Nothing passes through the fast forwards while they last, and the results are the same."""

    def everything() -> list[np.ndarray]:
        trials = task_of(small_anchor.setup).twin(small_pair.trials.take(slice(0, 32)), "value")
        plan = {"own-mean": small_pair.sets("heads"), "donor": small_pair.sets("heads")}
        return [
            patching_map(small_pair.below, trials, "resid_pre")["effect"].values,
            attenuation(small_pair, plan)["margin_after"].values,
            measured(advance(small_anchor, hold_schedule(2, 0.5)), trials)["margin"],
            behaviour(small_pair.below, trials)["margin"],
        ]

    fast = everything()
    with stages.plain_paths(), pytest.MonkeyPatch.context() as closed:
        closed.setattr("hyst_interp.interventions.network.Network.heads", None)
        closed.setattr("hyst_interp.model.query_forward.query_forward", None)
        closed.setattr("hyst_interp.history.advance.query_forward", None)
        closed.setattr("hyst_interp.history.measured.query_forward", None)
        plain = everything()
    for a, b in zip(fast, plain, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)
    assert covers_model(small_pair.below)
    assert query_forward.covers(small_anchor.setup.model)


def counted(seconds: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that says so many seconds for one timed job after the other."""
    clock = [0.0]
    for one in seconds:
        clock += [clock[-1] + one, clock[-1] + one]
    monkeypatch.setattr("benchmarks.pairs.time.perf_counter", iter(clock).__next__)


def test_the_ratio_is_taken_pair_by_pair_against_the_better_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs alternate: ours, a, b; then b, a, ours."""
    counted([1.0, 4.0, 3.0, 8.0, 10.0, 2.0, 1.0, 9.0, 5.0], monkeypatch)
    found = compare("k", "w", "p", int, {"a": int, "b": int}, lambda a, b: 0.0, 0.0, pairs=3)
    assert (found.low, found.ratio, found.high) == (3.0, 4.0, 5.0)
    assert found.ours_seconds == 1.0
    assert found.notes == {"peer, a": 9.0, "peer, b": 5.0}


def test_differing_results_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = compare("k", "w", "p", lambda: 1.0, {"": lambda: 1.5}, lambda a, b: abs(a - b), 0.5, pairs=1)
    differ = compare("k", "w", "p", lambda: 1.0, {"": lambda: 1.6}, lambda a, b: abs(a - b), 0.5, pairs=1)
    assert (alike.equal, differ.equal) == (True, False)


def result(equal: bool) -> dict:
    """What a benchmark found, one measure."""
    one = Measure("k", "what", "peer", 1.0, 3.0, 3.0, 2.0, 4.0, 5, 2.5, equal, 1e-6, 1e-4)
    return {
        "measures": [one.to_json()],
        "growth": {"trials": [], "layers": [], "seeds": []},
        "memory": {},
        "startup": [],
    }


@pytest.mark.parametrize("equal", [True, False])
def test_a_benchmark_whose_results_differ_fails(
    equal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(command, "measured", lambda quick: result(equal))
    assert command.main(["--quick", "--out", str(tmp_path)]) == (0 if equal else 1)
    written = json.loads((tmp_path / "latest.json").read_text())
    assert written["measures"][0]["ratio"] == 3.0
    assert ("| yes (" if equal else "| NO (") in (tmp_path / "latest.md").read_text()
    assert ("differ: what" in capsys.readouterr().err) != equal


def test_a_busy_machine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.pairs.os.getloadavg", lambda: (99.0, 0.0, 0.0))
    assert not wait_for_quiet(patience=0.0)["quiet"]
    monkeypatch.setattr("benchmarks.pairs.os.getloadavg", lambda: (0.0, 0.0, 0.0))
    assert wait_for_quiet(patience=0.0)["quiet"]


def test_the_repositorys_results_are_whole_and_the_readme_shows_them() -> None:
    found = json.loads(LATEST.read_text("utf-8"))
    keys = {one["key"] for one in found["measures"]}
    assert {"training-one-process", "training-aggregate", "sweep-residual", "sweep-heads", "workers", "stages"} <= keys
    assert not found["quick"]
    assert all(one["equal"] and one["pairs"] >= 5 for one in found["measures"])
    assert all(one["peak_bytes"] < 2 * 2**30 for one in found["memory"].values())
    assert found["memory"]["attenuate"]["trials"] == 200_000
    assert found["memory"]["sweep"]["trials"] == 20_000
    readme = (ROOT / "README.md").read_text("utf-8")
    assert shown_in(readme, found) == readme
    assert table(found) in readme
    assert details(found)


def test_a_readme_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the markers"):
        shown_in(f"text {START}", result(True))
    assert END in shown_in(
        f"a {START} b {END} c", {**result(True), "machine": command.machine(), "quiet": {"quiet": True}}
    )
