"""`patch`: maps as nested lists with their labels, answers apart for the query twin, and a figure on request."""

import csv
import io

import numpy as np
import pytest

FEW = ("--trials", 16)


def _shape(data: dict) -> tuple[int, ...]:
    return tuple(len(data["coords"][dim]) for dim in data["dims"])


@pytest.mark.parametrize("site", ["resid_pre", "result", "mlp_out", "pattern"])
def test_json_is_the_contract(site, both, call):
    data = call("patch", *both, "--site", site, *FEW, "--format", "json").json()
    assert data["schema"] == "hyst-interp/patch/1"
    assert (data["site"], data["twin"], data["direction"], data["effect"]) == (site, "value", "denoise", "raw")
    a, b, difference = (np.array(data[name]) for name in ("a", "b", "difference"))
    assert a.shape == b.shape == difference.shape == _shape(data)
    assert data["dims"][-1] == "pos"
    assert difference == pytest.approx(a - b, abs=1e-9)


def test_one_checkpoint_has_one_map_and_a_reason(both, call):
    data = call("patch", both[1], "--site", "resid_pre", "--axis", "role", *FEW, "--format", "json").json()
    assert np.array(data["a"]).shape == _shape(data)
    assert data["b"] is data["difference"] is None
    assert data["reason"]
    assert data["dims"] == ["layer", "role"]


def test_the_final_residual_stream_at_the_query_carries_everything(both, call):
    line = ("patch", *both, "--site", "resid_pre", "--effect", "normalised", "--axis", "role", *FEW)
    data = call(*line, "--format", "json").json()
    for side in ("a", "b"):
        if data[side][-1][-1] is not None:
            assert data[side][-1][-1] == pytest.approx(1, abs=1e-4)


def test_the_query_twin_reports_its_two_logits_apart(both, call):
    line = ("patch", both[0], "--site", "mlp_out", "--twin", "query", *FEW)
    data = call(*line, "--format", "json").json()
    assert data["dims"][0] == "answer"
    assert data["coords"]["answer"] == ["contextual", "fixed"]
    assert np.array(data["a"]).shape == _shape(data)
    assert "contextual logit" in call(*line).out


def test_undefined_shares_are_null_with_a_reason(mini, call):
    """The untrained network's two runs hardly differ, so there is nothing to be a share of."""
    line = ("patch", mini / "no-mlp", "--site", "result", "--effect", "normalised", "--trials", 4)
    data = call(*line, "--format", "json").json()
    if data["a"][0][0][0] is None:
        assert "may be 0" in data["reason"]
    assert call(*line).status == 0


@pytest.mark.parametrize("options", [[], ["--axis", "role"], ["--twin", "query"], ["--site", "result"]])
def test_tables_fit_80_columns(options, both, call):
    found = call("patch", *both, "--site", "resid_pre", *FEW, *options)
    assert (found.status, found.err) == (0, "")
    assert max(map(len, found.out.splitlines())) <= 80
    assert "difference" in found.out
    assert "\x1b" not in found.out


def test_csv_has_a_row_a_cell(both, call):
    found = call("patch", *both, "--site", "result", "--axis", "role", *FEW, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(found.out)))
    assert len(rows) == 3 * 2 * 2 * 5
    assert {row["history"] for row in rows} == {"below", "above", "difference"}


def test_a_figure_is_a_page_of_its_own(both, tmp_path, call):
    page = tmp_path / "map.html"
    data = call("patch", *both, "--site", "resid_pre", *FEW, "--figure", page, "--format", "json").json()
    assert data["wrote"] == [str(page)]
    assert "<html" in page.read_text("utf-8")
    assert list(tmp_path.iterdir()) == [page]


def test_a_table_of_a_long_prompt_is_cut_into_panels():
    import xarray as xr

    from hyst_interp.cli.maps import map_lines

    columns = [f"k{i}" for i in range(40)]
    array = xr.DataArray(np.eye(2, 40), coords={"layer": [0, 1], "pos": columns}, dims=["layer", "pos"])
    lines = map_lines("below", array.assign_attrs(site="mlp_out"), "logits", False)
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).split().count("k39") == 1
