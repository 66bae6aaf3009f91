"""The gate: every class of damage is refused in one sentence on saving and on loading, what can be mended is, and said.

What an older version may have saved is made by `forge`: tensors of any kind under right hashes.
"""

import json
import random
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch

from hyst_interp.config import ModelConfig
from hyst_interp.errors import UserError, WeightsWarning
from hyst_interp.history.advance import advance
from hyst_interp.history.schedule import hold_schedule
from hyst_interp.history.state import TrainingState, initial_state, tensors_hash
from hyst_interp.model.shapes import parameter_shapes
from hyst_interp.storage.checkpoint import Checkpoint, load, save
from hyst_interp.storage.manifest import MANIFEST, OPTIMIZER, WEIGHTS, file_hash

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SHAPES = parameter_shapes(ModelConfig(d_model=32, n_heads=2, d_mlp=48), 16, 8)
"""Names of the small set-up's parameters; its own shapes are not needed here."""
SHIPPED = sorted((REPOSITORY / "checkpoints").rglob(MANIFEST))
W_Q, W_E, W_U = "blocks.0.attn.W_Q", "embed.W_E", "unembed.W_U"


def forge(state: TrainingState, directory: Path, source: TrainingState, optimizer: bool = True) -> Path:
    """A checkpoint with the tensors of `state`, whatever they are, under right hashes; `source` is a sound state."""
    save(source, directory, optimizer=optimizer)
    content = json.loads((directory / MANIFEST).read_text())
    files = {WEIGHTS: dict(state.weights)}
    if optimizer:
        files[OPTIMIZER] = {f"{name}/{kind}": v for name, kinds in state.moments.items() for kind, v in kinds.items()}
    for name, tensors in files.items():
        safetensors.torch.save_file(tensors, directory / name)
        content["files"][name] = file_hash(directory / name)
    content |= {"weights": tensors_hash(state.weights), "state": state.hash()}
    (directory / MANIFEST).write_text(json.dumps(content))
    return directory


def with_weight(state: TrainingState, name: str, value: object) -> TrainingState:
    return replace(state, weights={**state.weights, name: value})


def with_moment(state: TrainingState, name: str, value: object, kind: str = "exp_avg_sq") -> TrainingState:
    return replace(state, moments={**state.moments, name: {**state.moments[name], kind: value}})


def without(state: TrainingState, name: str) -> TrainingState:
    return replace(state, weights={key: value for key, value in state.weights.items() if key != name})


def planted(tensor: torch.Tensor, value: float, place: int) -> torch.Tensor:
    copy = tensor.clone()
    copy.view(-1)[place] = value
    return copy


def refused(state: TrainingState, sound: TrainingState, root: Path, one_sentence, *words: str) -> None:
    """Refused on saving with nothing written, and on loading of what has right hashes."""
    with pytest.raises(UserError) as error:
        save(state, root / "new" / "here")
    one_sentence(error.value, *words)
    assert not (root / "new").exists()
    with pytest.raises(UserError) as error:
        load(forge(state, root / "old", sound))
    one_sentence(error.value, str(root / "old"), "make the checkpoint again", *words)


@pytest.mark.parametrize("name", SHAPES)
def test_one_value_that_is_not_finite_is_refused_wherever_it_is(name, small_branches, tmp_path, one_sentence):
    sound, dice = small_branches["below"], random.Random(name)
    size = sound.weights[name].numel()
    bad, word = dice.choice([(float("nan"), "1 NaN and 0 inf"), (float("inf"), "0 NaN and 1 inf")])
    harmed = with_weight(sound, name, planted(sound.weights[name], bad, dice.randrange(size)))
    refused(harmed, sound, tmp_path / "weights", one_sentence, f"parameter '{name}'", word, f"among {size:,}")
    value = sound.moments[name]["exp_avg_sq"]
    harmed = with_moment(sound, name, planted(value, -bad, dice.randrange(size)))
    refused(harmed, sound, tmp_path / "moments", one_sentence, f"moment '{name}/exp_avg_sq'", word)


def test_the_names_here_are_the_small_setups(small_branches):
    assert SHAPES.keys() == small_branches["below"].weights.keys()


DAMAGES = {
    "missing": (lambda s: without(s, W_Q), (W_Q, "missing")),
    "a LayerNorm missing": (lambda s: without(s, "ln_final.w"), ("ln_final.w", "missing")),
    "mask": (lambda s: with_weight(s, "blocks.0.attn.mask", torch.ones(8, 8)), ("attn.mask", "not in its model")),
    "misnamed": (
        lambda s: with_weight(without(s, W_Q), "blocks.0.attn.w_q", s.weights[W_Q]),
        ("blocks.0.attn.w_q", "not in its model"),
    ),
    "shape": (lambda s: with_weight(s, W_Q, s.weights[W_Q][:, :-1].clone()), (W_Q, "(2, 31, 16)", "(2, 32, 16)")),
    "heads turned": (
        lambda s: with_weight(s, W_Q, s.weights[W_Q].transpose(1, 2).contiguous()),
        (W_Q, "(2, 16, 32)", "(2, 32, 16)"),
    ),
    "integers": (lambda s: with_weight(s, W_Q, s.weights[W_Q].long()), (W_Q, "torch.int64", "floating")),
    "complex": (lambda s: with_weight(s, W_Q, s.weights[W_Q].to(torch.complex64)), (W_Q, "torch.complex64")),
    "beyond float32": (lambda s: with_weight(s, W_Q, s.weights[W_Q].double() * 1e300), (W_Q, "infinite", "float32")),
    "moment of nothing": (
        lambda s: replace(s, moments={**s.moments, "W": {"exp_avg": torch.ones(2)}}),
        ("moments of 'W'", "not in its model"),
    ),
    "moment missing": (
        lambda s: replace(s, moments={name: kinds for name, kinds in s.moments.items() if name != W_Q}),
        (f"moments of '{W_Q}'", "missing"),
    ),
    "moment's shape": (
        lambda s: with_moment(s, W_Q, torch.ones(3)),
        (f"moment '{W_Q}/exp_avg_sq'", "(3,)", "(2, 32, 16)"),
    ),
    "moment of integers": (
        lambda s: with_moment(s, W_Q, torch.ones(2, 32, 16, dtype=torch.int32)),
        (f"moment '{W_Q}/exp_avg_sq'", "torch.int32"),
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_no_network_of_the_setup_is_refused(damage, small_branches, tmp_path, one_sentence):
    harm, words = DAMAGES[damage]
    sound = small_branches["below"]
    refused(harm(sound), sound, tmp_path, one_sentence, *words)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (None, "NoneType"),
        ([1.0], "list"),
        (torch.empty(2, 32, 16, device="meta"), "meta"),
        (torch.ones(2, 32, 16).to_sparse(), "sparse"),
    ],
)
def test_what_is_no_tensor_is_refused_on_saving(value, word, small_branches, tmp_path, one_sentence):
    with pytest.raises(UserError) as error:
        save(with_weight(small_branches["below"], W_Q, value), tmp_path / "here")
    one_sentence(error.value, W_Q, word)
    assert list(tmp_path.iterdir()) == []


def same(checkpoint: Checkpoint, weights) -> bool:
    return checkpoint.weights.keys() == weights.keys() and all(
        torch.equal(checkpoint.weights[name], value.float()) for name, value in weights.items()
    )


def test_tied_turned_and_spread_weights_are_saved_and_load_equal(small_branches, tmp_path):
    sound = small_branches["below"]
    width, vocabulary = sound.weights[W_U].shape
    embedding = torch.randn(vocabulary, width, generator=torch.Generator().manual_seed(1))
    storage = torch.randn(4 * vocabulary, width, generator=torch.Generator().manual_seed(2))
    bias = torch.full((1,), 0.25).expand(vocabulary)
    given = {
        "tied": {W_E: embedding, W_U: embedding.T},
        "tied views of more": {W_E: storage[1 : vocabulary + 1], W_U: storage[2 : vocabulary + 2].T},
        "every second row": {W_E: storage[::4]},
        "expanded": {"unembed.b_U": bias},
        "one object twice": {"blocks.0.ln1.w": embedding[0], "blocks.1.ln1.w": embedding[0]},
        "parameters": {W_E: torch.nn.Parameter(embedding), W_U: torch.nn.Parameter(embedding.T)},
    }
    for label, tensors in given.items():
        state = replace(sound, weights={**sound.weights, **tensors})
        kept = {name: value.detach().clone() for name, value in state.weights.items()}
        manifest = save(state, tmp_path / label)
        checkpoint = load(tmp_path / label)
        assert same(checkpoint, kept), label
        assert manifest.weights == tensors_hash(kept), label
        assert all(torch.equal(state.weights[name], kept[name]) for name in kept), "the given state stays as it is"
        for value in checkpoint.weights.values():
            assert value.is_contiguous(), label
        places = [value.untyped_storage().data_ptr() for value in checkpoint.weights.values()]
        assert len(set(places)) == len(places), label


def test_the_bytes_of_an_ordinary_state_are_those_of_its_tensors(small_branches, tmp_path):
    state = small_branches["below"]
    manifest = save(state, tmp_path / "here")
    assert (tmp_path / "here" / WEIGHTS).read_bytes() == safetensors.torch.save(dict(state.weights))
    flat = {f"{name}/{kind}": v for name, kinds in state.moments.items() for kind, v in kinds.items()}
    assert (tmp_path / "here" / OPTIMIZER).read_bytes() == safetensors.torch.save(flat)
    assert (manifest.weights, manifest.state) == (state.weights_hash(), state.hash())


@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        (torch.bfloat16, ("bfloat16", "lower precision")),
        (torch.float16, ("float16", "lower precision")),
        (torch.float64, ("float64", "rounded")),
    ],
)
def test_another_floating_type_is_converted_and_said(dtype, words, small_branches, tmp_path, one_sentence):
    sound = small_branches["below"]
    weights = {name: value.to(dtype) for name, value in sound.weights.items()}
    moments = {name: {k: v.to(dtype) for k, v in kinds.items()} for name, kinds in sound.moments.items()}
    state = replace(sound, weights=weights, moments=moments)
    count = f"{3 * len(weights)} tensors are"
    with pytest.warns(WeightsWarning) as said:
        manifest = save(state, tmp_path / "new")
    one_sentence(said.list[0].message, count, *words)
    assert manifest.weights == tensors_hash({name: value.float() for name, value in weights.items()})
    with pytest.warns(WeightsWarning) as said:
        checkpoint = load(forge(state, tmp_path / "old", sound))
    assert len(said) == 1
    one_sentence(said.list[0].message, str(tmp_path / "old"), count, *words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resaved = load(tmp_path / "new")
    for loaded in (checkpoint, resaved):
        assert same(loaded, weights)
        assert {value.dtype for value in loaded.weights.values()} == {torch.float32}
        assert {value.dtype for kinds in loaded.moments.values() for value in kinds.values()} == {torch.float32}


def test_one_tensor_of_another_type_is_said_in_the_singular(small_branches, tmp_path):
    sound = small_branches["below"]
    with pytest.warns(WeightsWarning, match="1 tensor is bfloat16"):
        save(with_weight(sound, W_Q, sound.weights[W_Q].bfloat16()), tmp_path / "here")


FOLDINGS = {
    "no LayerNorm parameters": {"fold_ln": True},
    "value biases": {"fold_value_biases": True},
    "writing weights centred": {"center_writing_weights": True},
    "unembedding centred": {"center_unembed": True},
}
"""TransformerLens's own processing, one at a time."""
NOTHING = dict.fromkeys(("fold_ln", "fold_value_biases", "center_writing_weights", "center_unembed"), False)


def processed(state: TrainingState, **options: bool) -> TrainingState:
    """The state after TransformerLens's own processing; folded LayerNorms are gone."""
    model = state.model()
    model.load_and_process_state_dict(model.state_dict(), **{**NOTHING, **options})
    weights = {name: value.detach().clone() for name, value in model.named_parameters()}
    return replace(state, weights=weights)


def said_and_refused(state, sound, root, one_sentence, *words) -> Checkpoint:
    with pytest.raises(UserError) as error:
        save(state, root / "new")
    one_sentence(error.value, "folded weights", *words)
    assert not (root / "new").exists()
    with pytest.warns(WeightsWarning) as said:
        checkpoint = load(forge(state, root / "old", sound))
    one_sentence(said.list[0].message, str(root / "old"), "folded weights", *words)
    return checkpoint


@pytest.mark.parametrize("kind", FOLDINGS)
def test_one_processing_is_recognised_by_its_name_alone(kind, small_branches, tmp_path, one_sentence):
    sound = small_branches["below"]
    state = processed(sound, **FOLDINGS[kind])
    checkpoint = said_and_refused(state, sound, tmp_path, one_sentence, kind)
    for other in FOLDINGS:
        if other != kind:
            with pytest.raises(UserError) as error:
                save(state, tmp_path / "new")
            assert other not in str(error.value)
    tokens = torch.tensor([[0, 6, 1, 7, 2, 8, 1]])
    difference = checkpoint.model()(tokens).log_softmax(-1) - sound.model()(tokens).log_softmax(-1)
    assert difference.abs().max() < 1e-3
    assert (checkpoint.moments is None) == (kind == "no LayerNorm parameters")


def test_everything_at_once_is_named_whole(small_branches, tmp_path, one_sentence):
    sound = small_branches["below"]
    state = processed(sound, **dict.fromkeys(NOTHING, True))
    said_and_refused(state, sound, tmp_path / "bare", one_sentence, *FOLDINGS)
    filled = {name: torch.full_like(v, name.endswith(".w")) for name, v in sound.weights.items() if ".ln" in f".{name}"}
    whole = replace(state, weights={**filled, **state.weights})
    said_and_refused(whole, sound, tmp_path / "filled", one_sentence, "every LayerNorm exactly 1 and 0", "centred")
    model = sound.model()
    model.process_weights_()
    default = replace(sound, weights={name: value.detach() for name, value in model.named_parameters()})
    said_and_refused(default, sound, tmp_path / "default", one_sentence, "no LayerNorm parameters", "centred")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_folding_is_seen_through_a_coarser_type(dtype, small_branches, tmp_path):
    state = processed(small_branches["below"], center_writing_weights=True, center_unembed=True)
    coarse = replace(state, weights={name: value.to(dtype) for name, value in state.weights.items()})
    with pytest.raises(UserError, match="writing weights centred over d_model, unembedding centred"):
        save(coarse, tmp_path / "here")


@pytest.mark.parametrize("norm", ["LN", "none"])
@pytest.mark.parametrize("d_mlp", [0, 48])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_fresh_and_barely_trained_networks_are_not_folded(norm, d_mlp, optimizer, small_setup, tmp_path):
    training = small_setup.training
    training = training.model_copy(update={"optimizer": training.optimizer.model_copy(update={"name": optimizer})})
    model = ModelConfig(d_model=32, n_heads=2, d_mlp=d_mlp, normalization_type=norm)
    state = initial_state(small_setup.model_copy(update={"model": model, "training": training}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeightsWarning)
        for updates in (0, 1, 3):
            state = advance(state, hold_schedule(updates, 0.5)) if updates else state
            save(state, tmp_path / f"{updates}")
            assert load(tmp_path / f"{updates}").state().hash() == state.hash()


def test_what_weight_decay_centres_under_plain_descent_is_no_folding(small_branches, tmp_path):
    """No gradient reaches the mean over d_model, so it decays away; Adam's elementwise scale prevents that."""
    sound = small_branches["below"]
    state = processed(sound, center_writing_weights=True, center_unembed=True)
    for name, decay, folded in (
        ("sgd", 0.01, False),
        ("momentum", 0.01, False),
        ("sgd", 0.0, True),
        ("adamw", 0.01, True),
    ):
        optimizer = sound.setup.training.optimizer.model_copy(update={"name": name, "weight_decay": decay})
        training = sound.setup.training.model_copy(update={"optimizer": optimizer})
        other = replace(state, setup=sound.setup.model_copy(update={"training": training}), moments={})
        if folded:
            with pytest.raises(UserError, match="centred"):
                save(other, tmp_path / name)
        else:
            save(other, tmp_path / name)


def test_shipped_checkpoints_load_without_a_word():
    assert len(SHIPPED) >= 20
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeightsWarning)
        for manifest in SHIPPED:
            checkpoint = load(manifest.parent)
            assert tensors_hash(checkpoint.weights) == checkpoint.manifest.weights
