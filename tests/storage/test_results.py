"""Results and trials on disk: nothing is lost, equal numbers give equal bytes, and damage is one sentence."""

import time
import zipfile

import numpy as np
import pytest
import xarray as xr

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.errors import UserError
from hyst_interp.storage.results import SCHEMA, read_all, read_results, write_results
from hyst_interp.storage.trials_file import write_trials
from hyst_interp.tasks.registry import task_of


def some_dataset(seed: int = 0) -> xr.Dataset:
    random = np.random.default_rng(seed)
    gap = random.normal(size=(2, 3, 50)).astype(np.float32)
    gap[0, 0, :3] = [np.nan, np.inf, -0.0]
    return xr.Dataset(
        {
            "gap": (("seed", "branch", "trial"), gap, {"units": "logits", "method": "mean margin, below − above"}),
            "double": (("seed",), random.normal(size=2) * 1e-300),
            "count": (("trial",), random.integers(-(2**62), 2**62, 50)),
            "present": (("trial",), random.random(50) < 0.5),
            "role": (("branch",), np.array(["queried key", "its value", "π"])),
            "scalar": ((), np.float64(0.1)),
        },
        coords={"seed": [0, 4], "branch": ["below", "above", "anchor"], "tau": ("trial", np.arange(50.0) % 7)},
        attrs={"study": "x" * 64},
    )


def test_what_is_written_is_read_back_bit_for_bit(tmp_path):
    data = some_dataset()
    write_results(data, tmp_path / "deep" / "gap.nc")
    found = read_results(tmp_path / "deep" / "gap.nc")
    assert found.attrs == {**data.attrs, "schema": SCHEMA}
    xr.testing.assert_identical(found.drop_attrs(deep=False), data.drop_attrs(deep=False))
    for name in ("gap", "double", "count", "present", "scalar", "tau"):
        assert found[name].dtype == data[name].dtype
        assert found[name].values.tobytes() == data[name].values.tobytes()
    assert "schema" not in data.attrs
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["gap.nc"]


def test_equal_numbers_give_equal_bytes(tmp_path):
    """Under another name, after other writes, and in another second of the clock."""
    write_results(some_dataset(), tmp_path / "a.nc")
    write_results(some_dataset(1), tmp_path / "b.nc")
    time.sleep(1.1)
    write_results(some_dataset(), tmp_path / "c.nc")
    write_results(read_results(tmp_path / "a.nc"), tmp_path / "d.nc")
    first = (tmp_path / "a.nc").read_bytes()
    assert (tmp_path / "c.nc").read_bytes() == first
    assert (tmp_path / "b.nc").read_bytes() != first
    assert str(tmp_path).encode() not in first
    xr.testing.assert_identical(read_results(tmp_path / "d.nc"), read_results(tmp_path / "a.nc"))


def test_all_results_are_read_by_name(tmp_path, one_sentence):
    for name in ("gap", "attenuation"):
        write_results(some_dataset(), tmp_path / f"{name}.nc")
    (tmp_path / "notes.txt").write_text("no result")
    assert list(read_all(tmp_path)) == ["attenuation", "gap"]
    with pytest.raises(UserError) as error:
        read_all(tmp_path / "none")
    one_sentence(error.value, "holds no results", "--resume")


def test_missing_and_foreign_results_are_refused(tmp_path, one_sentence):
    some_dataset().drop_vars("role").to_netcdf(tmp_path / "foreign.nc", engine="h5netcdf")
    (tmp_path / "text.nc").write_text("no netCDF")
    (tmp_path / "empty.nc").write_bytes(b"")
    (tmp_path / "folder.nc").mkdir()
    for name, word in (
        ("none.nc", "do not exist"),
        ("folder.nc", "do not exist"),
        ("foreign.nc", "have schema 'None'"),
        ("text.nc", "cannot be read"),
        ("empty.nc", "cannot be read"),
    ):
        with pytest.raises(UserError) as error:
            read_results(tmp_path / name)
        one_sentence(error.value, name, word)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # h5netcdf's own close of such files
def test_truncated_and_altered_results_are_refused_or_read(tmp_path, one_sentence):
    """Cut anywhere, they are refused; an altered byte is refused, or read, and never another kind of error."""
    write_results(some_dataset(), tmp_path / "whole.nc")
    whole = (tmp_path / "whole.nc").read_bytes()
    broken = tmp_path / "broken.nc"
    for share in np.linspace(0.0, 0.999, 24):
        broken.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(UserError) as error:
            read_results(broken)
        one_sentence(error.value, "broken.nc", "cannot be read")
    refused = 0
    for place in np.random.default_rng(0).integers(0, len(whole), 60):
        altered = bytearray(whole)
        altered[place] ^= 0xFF
        broken.write_bytes(bytes(altered))
        try:
            read_results(broken)
        except UserError as error:
            one_sentence(error, "broken.nc")
            refused += 1
    assert refused > 0


def test_trials_are_a_file_that_numpy_reads_without_pickle(small_setup, tmp_path):
    trials = evaluation_trials(task_of(small_setup), 30)
    write_trials(trials, tmp_path / "deep" / "trials.npz")
    with np.load(tmp_path / "deep" / "trials.npz", allow_pickle=False) as found:
        assert set(found.files) == {*trials.arrays(), "position_labels", "first_value", "d_vocab"}
        for name, array in trials.arrays().items():
            np.testing.assert_array_equal(found[name], array)
        assert tuple(found["position_labels"]) == trials.position_labels
        assert (found["first_value"], found["d_vocab"]) == (6, 13)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["trials.npz"]


def test_equal_trials_give_equal_bytes_without_a_clock(small_setup, tmp_path):
    for name in ("a.npz", "b.npz"):
        write_trials(evaluation_trials(task_of(small_setup), 30), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.npz") as found:
        assert {info.date_time for info in found.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    write_trials(evaluation_trials(task_of(small_setup), 31), tmp_path / "c.npz")
    assert (tmp_path / "c.npz").read_bytes() != (tmp_path / "a.npz").read_bytes()


def test_another_ending_is_refused_before_anything_is_written(small_setup, tmp_path, one_sentence):
    with pytest.raises(UserError) as error:
        write_trials(evaluation_trials(task_of(small_setup), 3), tmp_path / "deep" / "trials.csv")
    one_sentence(error.value, "trials.csv", ".npz")
    assert list(tmp_path.iterdir()) == []
