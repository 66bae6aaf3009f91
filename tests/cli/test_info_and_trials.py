"""`info` and `trials`: what they read and wrote, and that their numbers are the checkpoint's own."""

import numpy as np
import pytest

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.storage.checkpoint import load
from hyst_interp.tasks.registry import task_of


def test_info_counts_parameters(both, call):
    data = call("info", both[0], "--format", "json").json()
    checkpoint = load(both[0])
    assert data["schema"] == "hyst-interp/info/1"
    assert data["parameters"] == sum(one.numel() for one in checkpoint.weights.values())
    assert data["weights"] == checkpoint.manifest.weights
    assert data["provenance"]["branch"] == "below"
    assert data["optimizer"] is True
    assert data["read"][0].endswith("hold-000/checkpoint.json")
    assert call("info", both[1], "--format", "json").json()["optimizer"] is False


@pytest.mark.parametrize("format", ["table", "csv"])
def test_info_is_readable(format, both, call):
    found = call("info", both[0], "--format", format)
    assert (found.status, found.err) == (0, "")
    assert "seed 100, order 0, from below, hold 0" in found.out


def test_info_fits_80_columns_but_for_paths(mini, call, monkeypatch):
    monkeypatch.chdir(mini)
    for path in ("seed-100/order-0/above", "seed-100/anchor"):
        assert max(map(len, call("info", path).out.splitlines())) <= 80


@pytest.mark.parametrize("conflict", [True, False])
def test_trials_are_the_evaluation_trials(conflict, mini, small_setup, tmp_path, call):
    out = tmp_path / "trials.npz"
    line = ["trials", mini / "seed-100" / "anchor", "--n", 37, "--out", out, *(["--conflict"] if conflict else [])]
    data = call(*line, "--format", "json").json()
    assert data["wrote"] == [str(out)]
    assert (data["trials"], data["conflict"]) == (37, conflict)
    expected = evaluation_trials(task_of(small_setup), 37, conflict=conflict)
    with np.load(out, allow_pickle=False) as found:
        for name, values in expected.arrays().items():
            assert np.array_equal(found[name], values)
        assert bool((found["contextual"] != found["fixed"]).all()) is conflict
        assert set(data["columns"]) == set(found.files)
    assert list(tmp_path.iterdir()) == [out]


def test_another_seed_gives_other_trials(mini, tmp_path, call):
    for seed in (5, 6):
        call("trials", mini / "seed-100" / "anchor", "--n", 20, "--seed", seed, "--out", tmp_path / f"{seed}.npz")
    first, second = (np.load(tmp_path / f"{seed}.npz")["tokens"] for seed in (5, 6))
    assert not np.array_equal(first, second)
    table = call("trials", mini / "seed-100" / "anchor", "--n", 20, "--out", tmp_path / "t.npz").out
    assert "wrote" in table
    assert "t.npz" in table
