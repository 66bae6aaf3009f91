"""Another task: everything that compares two networks asks the task for its roles, twins and labels, and no other."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from transformer_lens import HookedTransformer, HookedTransformerConfig

from hyst_interp.analysis.maps import flat, free_cells, mean_map
from hyst_interp.analysis.pair_data import PairData, evaluation_trials, mean_inputs, twin_trials
from hyst_interp.errors import UserError
from hyst_interp.interventions.patching import patching_map
from hyst_interp.questions.attenuation.measure import attenuation
from hyst_interp.questions.attribution.measure import direct_attribution
from hyst_interp.questions.crossing.measure import EVERYWHERE, cross_model_patching
from hyst_interp.questions.gap.measure import gap, pair_behaviour
from hyst_interp.questions.patching.attention import attention_patterns
from hyst_interp.questions.patching.stage import maps_of
from hyst_interp.streams import Stream
from hyst_interp.tasks.protocol import Task
from hyst_interp.tasks.trials import Trials

LETTERS, MARK = 6, 6
ROLES = ("mark", "shown", "cue")
LABELS = ("m", "s", "c")


@dataclass(frozen=True)
class Copy:
    """A mark, a letter, and one of two cues: say the letter that was shown, or the one that belongs to the cue."""

    seed: int
    roles = ROLES
    position_labels = LABELS
    twins = ("other letter", "other cue")
    d_vocab = LETTERS + 3
    n_ctx = 3

    @property
    def permutation(self) -> np.ndarray:
        """The letter of either cue."""
        return np.array([1, 4])

    def batch(self, stream: Stream, index: int, size: int) -> Trials:
        """Independent letters and cues."""
        random = stream.generator(index)
        shown, cue, uniform = random.integers(LETTERS, size=size), random.integers(2, size=size), random.random(size)
        fixed = self.permutation[cue]
        return Trials(
            tokens=np.stack([np.full(size, MARK), shown, MARK + 1 + cue], axis=1),
            contextual=shown,
            fixed=fixed,
            query=cue,
            queried_pair=np.zeros(size, np.int64),
            contextual_count=np.ones(size, np.int64),
            fixed_present=shown == fixed,
            uniform=uniform,
            roles=np.tile(np.arange(3), (size, 1)),
            role_names=ROLES,
            position_labels=LABELS,
            first_value=LETTERS,
            d_vocab=self.d_vocab,
        )

    def trials(self, stream: Stream, n: int, conflict: bool = True) -> Trials:
        """The first trials of one large batch."""
        drawn = self.batch(stream, 0, 1024)
        return (drawn.take(drawn.conflict) if conflict else drawn).take(slice(0, n))

    def twin(self, trials: Trials, kind: str) -> Trials:
        """The next letter, or the other cue."""
        corrupted = trials.tokens.copy()
        if kind == "other letter":
            corrupted[:, 1] = (corrupted[:, 1] + 1) % LETTERS
            return replace(
                trials, twin=kind, corrupted=corrupted, unchanged_roles=("mark",), unchanged_positions=("m",)
            )
        corrupted[:, 2] = 2 * MARK + 3 - corrupted[:, 2]
        return replace(
            trials, twin=kind, corrupted=corrupted, unchanged_roles=ROLES[:2], unchanged_positions=LABELS[:2]
        )

    def describe(self) -> str:
        """The task in a line."""
        return "copy the letter that was shown"


def network(seed: int) -> HookedTransformer:
    """Random weights, biases included."""
    config = HookedTransformerConfig(
        n_layers=2, n_heads=2, d_model=8, d_head=4, d_mlp=16, n_ctx=3, d_vocab=Copy.d_vocab, act_fn="relu", seed=None
    )
    with torch.random.fork_rng():
        model = HookedTransformer(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
    return model.eval()


@pytest.fixture(scope="module")
def pair() -> PairData:
    task = Copy(3)
    return PairData(network(1), network(2), evaluation_trials(task, 40), mean_inputs(task, 64), task)


def margin(model: HookedTransformer, trials: Trials, hooks=()) -> np.ndarray:
    """By the model's own forward, with plain hooks."""
    with torch.no_grad():
        logits = model.run_with_hooks(torch.from_numpy(trials.tokens), fwd_hooks=list(hooks))[:, -1].numpy()
    rows = np.arange(len(trials))
    return logits[rows, trials.contextual] - logits[rows, trials.fixed]


def test_it_is_a_task_and_its_own_seed_names_its_streams(pair):
    assert isinstance(pair.task, Task)
    assert (pair.trials.tokens == pair.task.trials(Stream("evaluation", 3), 40).tokens).all()
    assert (pair.inputs.tokens == pair.task.trials(Stream("means", 3), 64, conflict=False).tokens).all()
    assert pair.trials.conflict.all()


def test_twins_are_the_tasks_own(pair):
    assert twin_trials(pair.task, "other cue", 8, None).twin == "other cue"
    with pytest.raises(UserError, match="other letter, other cue"):
        twin_trials(pair.task, "value", 8, None)
    with pytest.raises(ValueError, match="role 'query' does not exist; use one of mark, shown, cue"):
        pair.trials.role_positions("query")


def test_gap_attenuation_and_direct_attribution(pair):
    wanted = margin(pair.below, pair.trials) - margin(pair.above, pair.trials)
    np.testing.assert_allclose(gap(pair_behaviour(pair)).values, wanted, atol=1e-5)

    _, cache = pair.below.run_with_cache(torch.from_numpy(pair.inputs.tokens))
    mean = cache["blocks.0.attn.hook_z"][:, -1, 1].mean(0)

    def replaced(act, hook):
        act = act.clone()
        act[:, -1, 1] = mean
        return act

    found = attenuation(pair, {"own-mean": pair.sets("L0H1")})
    ours = found["margin_after"].sel(branch="below").squeeze().values
    np.testing.assert_allclose(ours, margin(pair.below, pair.trials, [("blocks.0.attn.hook_z", replaced)]), atol=1e-5)

    terms = direct_attribution(pair)["direct"].sum("term")
    for branch, model in (("below", pair.below), ("above", pair.above)):
        np.testing.assert_allclose(terms.sel(branch=branch).values, margin(model, pair.trials), atol=5e-5)


def test_patching_by_role_is_a_loop_over_the_tasks_roles(pair):
    trials = pair.task.twin(pair.trials, "other letter")
    found = patching_map(pair.below, trials, "resid_pre")
    assert found["role"].values.tolist() == list(ROLES)
    _, clean = pair.below.run_with_cache(torch.from_numpy(trials.tokens))
    corrupted = replace(trials, tokens=trials.corrupted)
    base = margin(pair.below, corrupted)
    for layer in (0, 1):
        name = f"blocks.{layer}.hook_resid_pre"
        for place, role in enumerate(ROLES):

            def patched(act, hook, place=place):
                act = act.clone()
                act[:, place] = clean[hook.name][:, place]
                return act

            wanted = margin(pair.below, corrupted, [(name, patched)]) - base
            ours = found["effect"].sel(layer=layer, role=role).values
            np.testing.assert_allclose(ours, wanted, atol=1e-5)
            assert np.any(ours) == (role == "shown" or (role == "cue" and layer == 1))


@pytest.mark.parametrize(("axis", "place", "names"), [("role", "role", ROLES), ("position", "pos", LABELS)])
def test_free_cells_are_those_that_the_tasks_twin_can_move(pair, axis, place, names):
    found = maps_of(pair, pair.task.twins, "mlp_out", axis)
    assert json.loads(found.attrs["unchanged_by_other cue"]) == list(names[:2])
    free = {"other letter": [[0, 1, 1], [0, 0, 1]], "other cue": [[0, 0, 1], [0, 0, 1]]}
    maps = []
    for twin, table in free.items():
        effects = found.sel(branch="above", twin=twin, drop=True).assign_attrs(twin=twin)
        cells = free_cells(effects.attrs, effects["effect"].isel(trial=0)).transpose("layer", place)
        assert cells.values.tolist() == np.array(table, bool).tolist()
        assert (effects["effect"] != 0).any("trial").transpose("layer", place).values.tolist() == cells.values.tolist()
        maps.append(mean_map(effects))
    assert len(flat(maps)) == 5


def test_crossing_and_attention_have_the_tasks_roles(pair):
    assert cross_model_patching(pair, "resid_pre")["role"].values.tolist() == [*ROLES, EVERYWHERE]
    looked = attention_patterns(pair)
    assert looked["role"].values.tolist() == list(ROLES)
    assert looked["key_pos"].values.tolist() == list(LABELS)
    np.testing.assert_allclose(looked["attention"].sum("role").values, 1, atol=1e-5)
