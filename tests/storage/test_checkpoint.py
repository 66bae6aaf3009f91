"""Checkpoints: nothing is lost, equal states give equal bytes, and what is not whole is refused in one sentence."""

import json
import pickle
import shutil
import time
from pathlib import Path

import pytest
import safetensors.torch
import torch
from transformer_lens import HookedTransformer

from hyst_interp.errors import UserError
from hyst_interp.history.advance import advance
from hyst_interp.history.schedule import hold_schedule
from hyst_interp.history.state import TrainingState, fork, initial_state
from hyst_interp.storage.checkpoint import load, save
from hyst_interp.storage.manifest import (
    MANIFEST,
    OPTIMIZER,
    WEIGHTS,
    Ancestor,
    Manifest,
    Provenance,
    describe,
    file_hash,
    find_checkpoint,
    read_manifest,
    refuse_unlike,
)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def equal(a: TrainingState, b: TrainingState) -> bool:
    return a.hash() == b.hash() and (a.branch, a.order, a.tau, a.setup) == (b.branch, b.order, b.tau, b.setup)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, small_branches) -> Path:
    """Two checkpoints of the two branches; copied before anything is damaged."""
    root = tmp_path_factory.mktemp("saved")
    for branch, state in small_branches.items():
        save(state, root / branch / "hold-000", Provenance(step=0, hold=0))
    return root


@pytest.fixture
def mine(saved, tmp_path) -> Path:
    """A checkpoint of one's own to damage."""
    shutil.copytree(saved / "below" / "hold-000", tmp_path / "mine")
    return tmp_path / "mine"


@pytest.mark.parametrize("which", ["initial", "anchor", "below", "above"])
def test_a_state_comes_back_whole(which, small_setup, small_anchor, small_branches, tmp_path):
    state = {"initial": initial_state(small_setup), "anchor": small_anchor, **small_branches}[which]
    manifest = save(state, tmp_path / "here")
    found = load(tmp_path / "here")
    assert equal(found.state(), state)
    assert found.manifest == manifest == Manifest.model_validate(manifest.model_dump())
    assert manifest.state == state.hash()
    assert manifest.weights == state.weights_hash()
    assert found.weights.keys() == state.weights.keys()
    assert all(torch.equal(found.weights[name], state.weights[name]) for name in state.weights)
    assert found.provenance.step == state.step
    assert found.task.permutation.tolist() == load(tmp_path / "here").task.permutation.tolist()
    model = found.model()
    assert type(model) is HookedTransformer
    tokens = torch.tensor([[0, 6, 1, 7, 2, 8, 1]])
    assert torch.equal(model(tokens), state.model()(tokens))


def test_what_a_state_does_not_know_is_kept_beside_it(small_branches, tmp_path):
    ancestor = Ancestor(state="s" * 64, weights="w" * 64)
    place = Provenance(step=999, hold=25, formed_at=50, parent=ancestor, anchor=ancestor, schedule="a", exposure="b")
    found = save(small_branches["above"], tmp_path / "here", place).provenance
    assert found == place.model_copy(update={"step": 340, "position": 40, "tau": 5, "branch": "above", "order": 0}), (
        "the state's own clock wins"
    )
    assert load(tmp_path / "here").provenance == found


def test_only_named_parameters_without_metadata(saved, small_branches):
    for name, content in contents(saved / "below" / "hold-000").items():
        if name.endswith(".safetensors"):
            length = int.from_bytes(content[:8], "little")
            header = json.loads(content[8 : 8 + length])
            assert "__metadata__" not in header
            parameters = {key.rsplit("/", 1)[0] if name == OPTIMIZER else key for key in header}
            assert parameters == set(small_branches["below"].weights)
            assert not any("mask" in key or "IGNORE" in key for key in header)


def test_equal_states_give_equal_bytes(small_branches, small_anchor, tmp_path, monkeypatch):
    """Twice, with another save in between, under another name, later, and after a load."""
    state = small_branches["below"]
    save(state, tmp_path / "first")
    save(small_anchor, tmp_path / "between")
    monkeypatch.setattr(time, "time", lambda: 4e9)
    monkeypatch.chdir(tmp_path)
    save(state, Path("deeper/second"))
    save(load(tmp_path / "first").state(), tmp_path / "third")
    turned = dict(reversed(list(state.weights.items())))
    save(TrainingState(**{**vars(state), "weights": turned}), tmp_path / "fourth")
    first = contents(tmp_path / "first")
    assert set(first) == {MANIFEST, OPTIMIZER, WEIGHTS}
    for other in ("deeper/second", "third", "fourth"):
        assert contents(tmp_path / other) == first
    assert contents(tmp_path / "between")[WEIGHTS] != first[WEIGHTS]
    save(advance(state, hold_schedule(1, 0.5)), tmp_path / "fifth")
    assert all(contents(tmp_path / "fifth")[name] != first[name] for name in first)


def test_no_path_or_clock_in_any_file(small_branches, tmp_path):
    save(small_branches["below"], tmp_path / "here")
    found = contents(tmp_path / "here")
    for secret in (str(tmp_path), str(Path.cwd()), time.strftime("%Y-%m")):
        assert not [name for name, content in found.items() if secret.encode() in content]

    def strings(value) -> list[str]:
        if isinstance(value, dict):
            return [s for part in value.values() for s in strings(part)]
        return [value] if isinstance(value, str) else []

    found = strings(json.loads((tmp_path / "here" / MANIFEST).read_text()))
    assert len(found) > 10
    assert not [text for text in found if text.startswith(("/", "~", "."))]


def test_a_checkpoint_is_three_files_and_the_manifest_hashes_the_others(saved):
    directory, manifest = read_manifest(saved / "below")
    assert set(manifest.files) == {WEIGHTS, OPTIMIZER}
    for name, recorded in manifest.files.items():
        assert file_hash(directory / name) == recorded
    assert json.loads((directory / MANIFEST).read_text())["schema"] == "hyst-interp/checkpoint/1"
    assert set(manifest.streams) == {"initialisation", "permutation", "anchor", "excursion", "hold"}


def test_a_branch_stands_for_its_first_hold(saved, small_branches):
    assert find_checkpoint(saved / "above") == saved / "above" / "hold-000"
    assert equal(load(saved / "above").state(), small_branches["above"])
    assert equal(load(str(saved / "above" / "hold-000")).state(), small_branches["above"])


def test_without_optimizer_it_loads_but_cannot_be_continued(small_branches, tmp_path, one_sentence):
    state = small_branches["below"]
    save(state, tmp_path / "here", optimizer=False)
    assert set(contents(tmp_path / "here")) == {MANIFEST, WEIGHTS}
    found = load(tmp_path / "here")
    assert found.moments is None
    assert found.manifest.state == state.hash()
    assert all(torch.equal(p, state.weights[name]) for name, p in found.model().named_parameters())
    with pytest.raises(UserError) as error:
        found.state()
    one_sentence(error.value, str(tmp_path / "here"), "no optimizer state", "save_optimizer")


def edit(directory: Path, *path: str, value) -> None:
    content = json.loads((directory / MANIFEST).read_text())
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (directory / MANIFEST).write_text(json.dumps(content))


def drop(directory: Path, *path: str) -> None:
    content = json.loads((directory / MANIFEST).read_text())
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    (directory / MANIFEST).write_text(json.dumps(content))


def rewrite(directory: Path, name: str, content: bytes) -> None:
    """Another content, whose hash the manifest records as if it were right."""
    (directory / name).write_bytes(content)
    edit(directory, "files", name, value=file_hash(directory / name))


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))


def cut(path: Path, share: float) -> None:
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


def negated(path: Path) -> bytes:
    return safetensors.torch.save({name: -value for name, value in safetensors.torch.load_file(path).items()})


DAMAGES = {
    "manifest missing": (lambda d: (d / MANIFEST).unlink(), ("is not a checkpoint", MANIFEST)),
    "manifest empty": (lambda d: (d / MANIFEST).write_text(""), ("truncated or no JSON",)),
    "manifest truncated": (lambda d: cut(d / MANIFEST, 0.5), ("truncated or no JSON",)),
    "manifest binary": (lambda d: (d / MANIFEST).write_bytes(b"\xff\xfe\x00"), ("truncated or no JSON",)),
    "manifest a list": (lambda d: (d / MANIFEST).write_text("[1]"), ("has schema 'None'",)),
    "manifest a directory": (lambda d: ((d / MANIFEST).unlink(), (d / MANIFEST).mkdir()), ("is not a checkpoint",)),
    "manifest of another schema": (lambda d: edit(d, "schema", value="other/2"), ("schema 'other/2'", "checkpoint/1")),
    "manifest without schema": (lambda d: drop(d, "schema"), ("schema 'None'",)),
    "unknown field": (lambda d: edit(d, "colour", value=1), ("unknown field 'colour'",)),
    "missing field": (lambda d: drop(d, "setup", "task"), ("field 'setup.task' is missing",)),
    "impossible task": (lambda d: edit(d, "setup", "task", "n_keys", value=99), ("n_values is 7", "n_keys 99")),
    "unknown branch": (lambda d: edit(d, "provenance", "branch", value="left"), ("provenance.branch", "'left'")),
    "weights missing": (lambda d: (d / WEIGHTS).unlink(), ("incomplete", WEIGHTS)),
    "weights empty": (lambda d: (d / WEIGHTS).write_bytes(b""), (WEIGHTS, "truncated or altered")),
    "weights truncated": (lambda d: cut(d / WEIGHTS, 0.9), (WEIGHTS, "truncated or altered")),
    "weights altered in one bit": (lambda d: flip(d / WEIGHTS, -1), (WEIGHTS, "truncated or altered")),
    "weights' header altered": (lambda d: flip(d / WEIGHTS, 20), (WEIGHTS, "truncated or altered")),
    "optimizer missing": (lambda d: (d / OPTIMIZER).unlink(), ("incomplete", OPTIMIZER)),
    "optimizer truncated": (lambda d: cut(d / OPTIMIZER, 0.5), (OPTIMIZER, "truncated or altered")),
    "optimizer altered in one bit": (lambda d: flip(d / OPTIMIZER, -1), (OPTIMIZER, "truncated or altered")),
    "foreign weights whose hash is recorded": (
        lambda d: rewrite(d, WEIGHTS, negated(d / WEIGHTS)),
        ("the weights' hash is not the recorded one",),
    ),
    "foreign moments whose hash is recorded": (
        lambda d: rewrite(d, OPTIMIZER, negated(d / OPTIMIZER)),
        ("the optimizer's hash is not the recorded one",),
    ),
    "weights in place of moments": (
        lambda d: rewrite(d, OPTIMIZER, (d / WEIGHTS).read_bytes()),
        ("the optimizer's hash is not the recorded one",),
    ),
    "pickle in place of weights": (lambda d: rewrite(d, WEIGHTS, pickle.dumps({"a": 1})), ("cannot be read",)),
    "no tensor at all": (lambda d: rewrite(d, WEIGHTS, safetensors.torch.save({})), ("the weights' hash",)),
    "another weights' hash recorded": (lambda d: edit(d, "weights", value="0" * 64), ("the weights' hash",)),
    "another state's hash recorded": (lambda d: edit(d, "state", value="0" * 64), ("hash is not the recorded one",)),
    "another step recorded": (lambda d: edit(d, "provenance", "step", value=7), ("hash is not the recorded one",)),
    "another seed recorded": (lambda d: edit(d, "setup", "seed", value=7), ("hash is not the recorded one",)),
    "weights neither recorded nor there": (
        lambda d: (drop(d, "files", WEIGHTS), (d / WEIGHTS).unlink()),
        ("cannot be read",),
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_not_whole_is_refused_in_one_sentence(damage, mine, one_sentence, capfd):
    load(mine)
    harm, words = DAMAGES[damage]
    harm(mine)
    with pytest.raises(UserError) as error:
        load(mine)
    one_sentence(error.value, str(mine), *words)
    assert capfd.readouterr() == ("", "")


def test_places_that_hold_no_checkpoint_are_refused(tmp_path, small_anchor, saved, one_sentence):
    (tmp_path / "empty").mkdir()
    save(small_anchor, tmp_path / "seed-0" / "anchor")
    for place, words in (
        (tmp_path / "none", ("does not exist", "check the path")),
        (tmp_path / "empty", ("is not a checkpoint", MANIFEST)),
        (saved / "below" / "hold-000" / WEIGHTS, ("is not a checkpoint",)),
        (tmp_path / "seed-0", ("directory of a seed", str(tmp_path / "seed-0" / "anchor"))),
    ):
        with pytest.raises(UserError) as error:
            load(place)
        one_sentence(error.value, str(place), *words)
    assert load(tmp_path / "seed-0" / "anchor").state().hash() == small_anchor.hash()


def test_a_shape_that_its_weights_do_not_have_is_refused(small_branches, tmp_path, one_sentence):
    """Without an optimizer no hash covers the configuration; the weights themselves contradict it."""
    save(small_branches["below"], tmp_path / "here", optimizer=False)
    edit(tmp_path / "here", "setup", "model", "d_mlp", value=64)
    with pytest.raises(UserError) as error:
        load(tmp_path / "here")
    one_sentence(error.value, str(tmp_path / "here"), "(32, 48)", "(32, 64)", "make the checkpoint again")


def changed(manifest: Manifest, *path: str, value) -> Manifest:
    data = manifest.model_dump()
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return Manifest.model_validate(data)


def test_histories_that_cannot_be_compared_are_refused(saved, one_sentence):
    below, above = (read_manifest(saved / branch)[1] for branch in ("below", "above"))
    refuse_unlike(below, above)
    refuse_unlike(below, changed(above, "setup", "training", "batch_size", value=7))
    refuse_unlike(above, below, ordered=False)
    anchor = changed(above, "provenance", "branch", value=None)
    refuse_unlike(below, anchor)
    refuse_unlike(anchor, above)
    cases = [
        (below, changed(above, "setup", "task", "n_values", value=8), ("task.n_values", "7 and 8")),
        (below, changed(above, "setup", "model", "n_heads", value=4), ("model.n_heads", "2 and 4")),
        (below, changed(above, "setup", "seed", value=5), ("seeds 100 and 5", "permutations")),
        (above, below, ("wrong order", "from above", "from below first")),
        (anchor, below, ("wrong order",)),
        (above, anchor, ("wrong order",)),
    ]
    for first, second, words in cases:
        with pytest.raises(UserError) as error:
            refuse_unlike(first, second)
        one_sentence(error.value, *words)


def test_a_checkpoint_is_described_in_words(saved, small_anchor, tmp_path):
    below = read_manifest(saved / "below")[1]
    assert describe(below) == "seed 100, order 0, from below, hold 0"
    assert describe(changed(below, "provenance", "hold", value=None)) == "seed 100, order 0, from below, position 40"
    assert describe(save(small_anchor, tmp_path / "anchor")) == "seed 100, anchor, 300 updates"
    assert below.weights[:12] in repr(load(saved / "below"))


def test_an_anchor_stands_before_the_clock(small_anchor, tmp_path):
    place = save(small_anchor, tmp_path / "anchor").provenance
    assert (place.step, place.position, place.tau, place.branch, place.order) == (300, 0, None, None, None)
    assert fork(load(tmp_path / "anchor").state(), "below", 0).hash() == fork(small_anchor, "below", 0).hash()
