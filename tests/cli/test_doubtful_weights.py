"""Weights that an older version or another program wrote: a NaN is exit 2, what is taken is said in a line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch

from hyst_interp.cli.app import main
from hyst_interp.history.state import tensors_hash
from hyst_interp.storage.manifest import MANIFEST, OPTIMIZER, WEIGHTS, file_hash

W_Q = "blocks.0.attn.W_Q"
FEW = ("--trials", 16)


@pytest.fixture
def altered(both, tmp_path) -> Callable[[Callable], tuple[Path, Path]]:
    """`altered(change)`: the pair with the weights from above changed, under right hashes and without optimizer."""

    def make(change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> tuple[Path, Path]:
        shutil.copytree(both[1] / "hold-000", tmp_path / "altered")
        weights = change(safetensors.torch.load_file(tmp_path / "altered" / WEIGHTS))
        safetensors.torch.save_file(weights, tmp_path / "altered" / WEIGHTS)
        (tmp_path / "altered" / OPTIMIZER).unlink(missing_ok=True)
        content = json.loads((tmp_path / "altered" / MANIFEST).read_text())
        content |= {"files": {WEIGHTS: file_hash(tmp_path / "altered" / WEIGHTS)}, "weights": tensors_hash(weights)}
        (tmp_path / "altered" / MANIFEST).write_text(json.dumps(content))
        return both[0], tmp_path / "altered"

    return make


def one_nan(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    weights[W_Q][1, 2, 3] = float("nan")
    return weights


def coarse(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value.bfloat16() for name, value in weights.items()}


def centred(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return weights | {"unembed.W_U": weights["unembed.W_U"] - weights["unembed.W_U"].mean(-1, keepdim=True)}


COMMANDS = {
    "info": "info {above}",
    "patch, one": "patch {above} --site resid_pre",
    "patch, two": "patch {below} {above} --site resid_pre",
    "attenuate": "attenuate {below} {above}",
    "compare": "compare {below} {above}",
    "cross": "cross {below} {above}",
    "edges": "edges {below} {above}",
    "weights": "weights {below} {above}",
    "information": "information {below} {above}",
    "explore": "explore {below} {above} --out {out}/page.html",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("format", ["table", "json"])
def test_one_nan_is_refused_by_every_command_that_reads_weights(command, format, altered, tmp_path, call, one_sentence):
    below, above = altered(one_nan)
    words = COMMANDS[command].format(below=below, above=above, out=tmp_path).split()
    answered = call(*words, *([] if command == "explore" else ["--format", format]))
    assert (answered.status, answered.out) == (2, "")
    assert answered.err.count("\n") == 1
    one_sentence(answered.err.rstrip("\n"), str(above), f"parameter '{W_Q}'", "1 NaN", "make the checkpoint again")
    assert [path.name for path in tmp_path.iterdir()] == ["altered"]


@pytest.mark.parametrize(("change", "word"), [(coarse, "bfloat16"), (centred, "folded weights (unembedding centred")])
@pytest.mark.parametrize("command", ["info", "patch, two", "attenuate"])
def test_what_is_taken_nonetheless_is_said_in_one_line(change, word, command, altered, call, one_sentence):
    below, above = altered(change)
    words = COMMANDS[command].format(below=below, above=above).split()
    answered = call(*words, *([] if command == "info" else FEW), "--format", "json")
    assert answered.json()["schema"] == f"hyst-interp/{words[0]}/1"
    lines = [line for line in answered.err.splitlines() if str(above) in line]
    assert len(lines) == 1
    one_sentence(lines[0], word)
    assert "Warning" not in answered.err
    assert ".py" not in answered.err


def test_sound_weights_are_taken_without_a_word(both, call):
    for words in (["info", both[1]], ["patch", *both, "--site", "resid_pre", *FEW]):
        assert call(*words, "--format", "json").err == ""


def test_the_warnings_way_is_put_back(both):
    import warnings

    before = warnings.showwarning
    assert main(["info", str(both[1])]) == 0
    assert warnings.showwarning is before
