"""The facade: a pair from two paths, and methods that say what the rooms below say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hyst_interp as hi
from hyst_interp.errors import UserError
from hyst_interp.names import ROOMS
from hyst_interp.questions import questions
from hyst_interp.questions.gap.pair_gap import gap as gap_estimate
from hyst_interp.storage.checkpoint import save
from hyst_interp.stubs import stubs


@pytest.fixture(scope="module")
def paths(tmp_path_factory, small_anchor, small_branches):
    root = tmp_path_factory.mktemp("facade")
    save(small_anchor, root / "anchor")
    for branch, state in small_branches.items():
        save(state, root / branch / "hold-000")
    return root


@pytest.fixture(scope="module")
def pair(paths):
    return hi.pair(paths / "below", paths / "above", trials=192, anchor=paths / "anchor")


def test_every_public_name_exists():
    for name in hi.__all__:
        assert getattr(hi, name) is not None
    assert set(hi.__all__) <= set(dir(hi))
    assert hi.__version__
    with pytest.raises(AttributeError, match="nothing_such"):
        hi.nothing_such  # noqa: B018


def test_no_public_function_has_a_submodules_name():
    modules = {path.stem for path in Path(hi.__file__).parent.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set(hi.__all__) & modules <= set(ROOMS)


def test_editors_see_what_the_lists_of_names_say():
    for path, text in stubs().items():
        assert path.read_text("utf-8") == text, f"{path.name} is out of date; run make stubs"


def test_every_name_of_a_question_leads_to_its_own_folder():
    for field in ("public", "figures", "pair_methods", "run_methods", "chapters", "answers"):
        for question in questions():
            for reference in getattr(question, field):
                assert callable(question.find(reference))
    with pytest.raises(UserError, match=r"gap.*measure:nothing_such"):
        questions()[0].find("measure:nothing_such")


def test_the_gap_is_the_comparisons(pair, small_pair):
    assert pair.gap() == gap_estimate(small_pair)


def test_two_copies_of_one_network_have_no_gap(paths):
    same = hi.pair(paths / "anchor", paths / "anchor", trials=16)
    assert same.gap().estimate == 0
    (row,) = same.attenuation("heads", ["donor"])
    assert row["attenuation"].estimate is None
    assert row["attenuation"].reason


def test_margins_strata_and_keys_fit_together(pair):
    margins = pair.margins()["margin"].astype("float64")
    assert dict(margins.sizes) == {"branch": 2, "trial": 192}
    gap = float((margins.sel(branch="below") - margins.sel(branch="above")).mean())
    assert pair.gap().estimate == pytest.approx(gap)
    assert pair.by_stratum()["all"].estimate == pytest.approx(gap)
    counts = np.bincount(pair.data.trials.query, minlength=6)
    by_key = pair.by_key()
    assert float((by_key * counts[by_key["key"].values]).sum() / 192) == pytest.approx(gap)
    sides = pair.mean_margins()
    assert sides["below"].estimate - sides["above"].estimate == pytest.approx(gap)


def test_attenuation_has_a_row_a_set_and_reference_and_prints(pair):
    rows = pair.attenuation("heads,L0MLP")
    assert [(row["reference"], row["components"]) for row in rows] == [
        (reference, name)
        for reference in ("own-mean", "pooled-mean", "donor", "anchor-mean")
        for name in ("heads", "L0MLP")
    ]
    assert len(repr(rows).splitlines()) == 9


def test_replaced_keeps_the_trials_that_the_rows_are_means_of(pair):
    found = pair.replaced("heads", ["donor"], positions="all")
    assert dict(found.sizes) == {"row": 1, "branch": 2, "trial": 192}
    (row,) = pair.attenuation("heads", ["donor"], positions="all")
    after = found["margin_after"].astype("float64").sel(branch="below").mean()
    assert row["margin_after_below"].estimate == pytest.approx(float(after))


def test_patching_is_both_maps_and_their_difference(pair, paths):
    found = pair.patching("result", axis="role", trials=32)
    assert found.dims == ("history", "layer", "head", "role")
    assert list(found["history"].values) == ["below", "above", "difference"]
    below, above, difference = found.values
    assert difference == pytest.approx(below - above)
    for name in ("site", "twin", "units", "direction", "effect"):
        assert found.attrs[name]
    from hyst_interp.questions.patching.measure import checkpoint_map

    alone = checkpoint_map(hi.load(paths / "above"), "result", axis="role", trials=32)
    assert list(alone["history"].values) == ["above"]
    assert np.array_equal(alone.values[0], above)


def test_the_margins_effect_is_the_difference_of_the_answers(pair):
    query = pair.patching("mlp_out", twin="query", trials=32)
    assert query.dims == ("history", "answer", "layer", "pos")
    margin = hi.patching_map(pair.data.below, _queried(pair, 32), "mlp_out", axis="position")["effect"].mean("trial")
    below = query.sel(history="below")
    assert (below.sel(answer="contextual") - below.sel(answer="fixed")).values == pytest.approx(margin.values, abs=1e-4)


def _queried(pair, n):
    return pair.below.task.twin(pair.data.trials.take(slice(0, n)), "query")


@pytest.mark.parametrize("direction", ["denoise", "noise"])
@pytest.mark.parametrize("twin", ["value", "rename", "query"])
def test_the_whole_residual_stream_is_a_share_of_one(pair, twin, direction):
    found = pair.patching("resid_pre", twin, direction, axis="role", trials=64, effect="normalised")
    last = found.sel(history=["below", "above"]).isel(layer=-1).sel(role="query").values
    defined = last[np.isfinite(last)]
    assert defined == pytest.approx(np.ones_like(defined), abs=1e-4)
    assert np.isfinite(last).all() or "may be 0" in found.attrs["reason"]


def test_similarity_head_and_gain_share_their_maps(pair, monkeypatch):
    alike = pair.similarity("result", trials=32)
    assert -1 <= alike.pearson <= 1
    monkeypatch.setattr("hyst_interp.questions.patching.methods.patching_map", None)
    assert pair.dominant_head(trials=32).a.startswith("L")
    gain = pair.gain("result", trials=32)
    assert set(gain) == {"value", "rename"}


def test_a_map_is_like_itself(paths):
    same = hi.pair(paths / "anchor", paths / "anchor", trials=16)
    alike = same.similarity("resid_pre", trials=16)
    assert alike.pearson == pytest.approx(1)
    assert alike.distance == 0
    assert all(one["slope"] == pytest.approx(1) for one in same.gain("resid_pre", trials=16).values())


@pytest.mark.parametrize(
    ("ask", "word"),
    [
        (lambda pair: pair.attenuation("L9H9"), "L9H9"),
        (lambda pair: pair.attenuation("heads", ["zero"]), "zero"),
        (lambda pair: pair.attenuation("heads", positions="last"), "last"),
        (lambda pair: pair.patching("attn"), "attn"),
        (lambda pair: pair.patching("result", "values"), "values"),
        (lambda pair: pair.patching("result", trials=1), "1"),
    ],
)
def test_refusals_name_the_value(pair, ask, word, one_sentence):
    with pytest.raises(hi.UserError) as caught:
        ask(pair)
    one_sentence(caught.value, word)


def test_pairs_are_checked_when_they_are_made(paths, one_sentence):
    for arguments, word in (
        ({"below": paths / "above", "above": paths / "below"}, "order"),
        ({"below": paths / "below", "above": paths / "nowhere"}, "nowhere"),
        ({"below": paths / "below", "above": paths / "above", "trials": 1}, "trials"),
        ({"below": paths / "below", "above": paths / "above", "seed": -1}, "seed"),
    ):
        with pytest.raises(hi.UserError) as caught:
            hi.pair(**arguments)
        one_sentence(caught.value, word)
    without = hi.pair(paths / "below", paths / "above", trials=8)
    with pytest.raises(hi.UserError, match="anchor"):
        without.attenuation("heads", ["anchor-mean"])


def test_importing_the_package_imports_no_tensor_library():
    slow = ("torch", "xarray", "scipy.stats", "transformer_lens", "numpy")
    code = f"import sys, hyst_interp as hi; dir(hi); hi.UserError; print([m for m in {slow!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
