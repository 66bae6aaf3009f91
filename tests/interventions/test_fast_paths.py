"""Every fast path is the model's own forward with plain hooks, whatever the model and whatever was done to it."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from drawn_models import BUILDS, CHANGES, COVERED, D_HEAD, D_MODEL, N_HEADS, N_LAYERS, N_POS, built, drawn
from transformer_lens import HookedTransformer

from hyst_interp.analysis.pair_data import PairData
from hyst_interp.config import ModelConfig
from hyst_interp.errors import UserError
from hyst_interp.interventions import cached_run, cached_sweep, references
from hyst_interp.interventions.edit import Edit, Reference
from hyst_interp.model.plain_build import covers_model, refusal
from hyst_interp.model.query_forward import query_logits
from hyst_interp.questions.edges.edge_forward import graph_of, record
from hyst_interp.questions.gap import measure as gap
from hyst_interp.questions.information import off_distribution as displacement
from hyst_interp.sites import Site, components, hook_resid
from hyst_interp.tasks.trials import Trials

ROOMS = (cached_sweep, cached_run, references, gap)
"""Where the predicate is asked."""


def own_run(
    model: HookedTransformer, tokens: torch.Tensor, hooks: Sequence[tuple] = (), kept: Sequence[str] = ()
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The oracle: logits at the query of the model's own forward, and what its hook points hold at the end."""
    acts: dict[str, torch.Tensor] = {}

    def keep(act: torch.Tensor, hook: object) -> None:
        acts[hook.name] = act.clone()

    with torch.no_grad(), model.hooks(fwd_hooks=[*hooks, *((name, keep) for name in kept)]):
        return model(tokens)[:, -1], acts


def plain_hooks(model: HookedTransformer, edit: Edit) -> list[tuple]:
    """An edit, written out."""
    layer, head, kind = edit.site.layer, edit.site.head, edit.site.kind
    values = edit.reference.values.to(model.cfg.dtype)
    where = torch.ones(N_POS, dtype=torch.bool) if edit.positions is None else torch.from_numpy(edit.positions)

    def mix(act: torch.Tensor) -> torch.Tensor:
        changed = torch.lerp(act, values.expand_as(act), edit.strength)
        return torch.where(where[:, None], changed, act)

    def whole(act: torch.Tensor, hook: object) -> torch.Tensor:
        return mix(act)

    def head_of_z(act: torch.Tensor, hook: object) -> torch.Tensor:
        return torch.stack([mix(act[:, :, h]) if h == head else act[:, :, h] for h in range(N_HEADS)], 2)

    def head_of_pattern(act: torch.Tensor, hook: object) -> torch.Tensor:
        return torch.stack([mix(act[:, h]) if h == head else act[:, h] for h in range(N_HEADS)], 1)

    written = {}

    def read(act: torch.Tensor, hook: object) -> None:
        written["own"] = act[:, :, head] @ model.blocks[layer].attn.W_O[head]

    def write(act: torch.Tensor, hook: object) -> torch.Tensor:
        return act + edit.strength * where[:, None] * (values - written["own"])

    if kind == "resid_pre":
        return [(hook_resid(layer, N_LAYERS), whole)]
    if kind == "mlp_out":
        return [(f"blocks.{layer}.hook_mlp_out", whole)]
    if kind == "pattern":
        return [(f"blocks.{layer}.attn.hook_pattern", head_of_pattern)]
    if edit.reference.frame == "site":
        return [(f"blocks.{layer}.attn.hook_z", head_of_z)]
    return [(f"blocks.{layer}.attn.hook_z", read), (f"blocks.{layer}.hook_attn_out", write)]


def some_cells(model: HookedTransformer) -> list[list[Edit]]:
    """Cells of every kind: layers, heads, frames, strengths, and places; together, and one after the other."""
    random = torch.Generator().manual_seed(2)
    middle, query = np.arange(N_POS) == 3, np.arange(N_POS) == N_POS - 1

    def edit(kind: str, layer: int, width: int, head: int | None = None, frame: str = "site", **rest) -> Edit:
        values = torch.randn(N_POS, width, generator=random)
        return Edit(
            Site(kind, layer, head),
            Reference(values.softmax(-1) if kind == "pattern" else values, False, frame),
            **rest,
        )

    first = edit("resid_pre", 0, D_MODEL, positions=middle)
    head = edit("result", 0, D_HEAD, 1, positions=query)
    donor = edit("result", 1, D_MODEL, 0, "stream", positions=query)
    cells = [[], [first], [edit("resid_pre", 1, D_MODEL, positions=middle)], [edit("resid_pre", 2, D_MODEL)]]
    cells += [[head], [donor], [edit("result", 0, D_MODEL, 0, "stream", strength=0.5)]]
    cells += [[edit("pattern", layer, N_POS, 1)] for layer in (0, 1)]
    if not model.cfg.attn_only:
        mlp = edit("mlp_out", 0, D_MODEL, strength=0.5, positions=query)
        cells += [[mlp], [edit("mlp_out", 1, D_MODEL)], [head, mlp, donor]]
    return cells


def margins(logits: torch.Tensor, trials: Trials) -> np.ndarray:
    rows = torch.arange(len(trials))
    return (logits[rows, trials.contextual].double() - logits[rows, trials.fixed].double()).numpy()


def discrepancies(model: HookedTransformer, trials: Trials) -> dict[str, float]:
    """Fast path → how far it is from the oracle, as a share of the size of what is compared."""
    tokens, apart = torch.from_numpy(trials.tokens), {}

    def compare(name: str, fast: object, own: object) -> None:
        fast, own = (np.asarray(value.double() if torch.is_tensor(value) else value) for value in (fast, own))
        assert fast.shape == own.shape, name
        apart[name] = max(apart.get(name, 0.0), float(np.abs(fast - own).max() / (1 + np.abs(own).max())))

    cells = some_cells(model)
    runs = [own_run(model, tokens, [hook for edit in cell for hook in plain_hooks(model, edit)]) for cell in cells]
    own = np.stack([margins(logits, trials) for logits, _ in runs])
    compare("cached_sweep", cached_sweep.cached_sweep(model, trials, cells)["margin"], own)
    whole = cached_run.CachedRun(model, trials)
    compare("CachedRun.sweep", whole.sweep([cells[1], cells[-1]])["margin"], own[[1, -1]])
    compare("behaviour", gap.behaviour(model, trials)["margin"], own[0])
    config = ModelConfig(d_model=D_MODEL, n_heads=N_HEADS, d_mlp=48)
    compare("query_logits", query_logits(config, model, tokens).detach(), runs[0][0])

    at_query = [cell for cell in cells if all(one.positions is not None and one.positions.sum() == 1 for one in cell)]
    at_query = [cell for cell in at_query if all(one.site.kind in ("result", "mlp_out") for one in cell)]
    last = hook_resid(N_LAYERS, N_LAYERS)
    ends = [own_run(model, tokens, [h for one in cell for h in plain_hooks(model, one)], [last]) for cell in at_query]
    before, after = ends[0][0].double().log_softmax(-1), torch.stack([end[0] for end in ends]).double().log_softmax(-1)
    streams = torch.stack([end[1][last][:, -1] for end in ends]).double()
    moved = displacement.off_distribution(model, trials, at_query)
    compare("off_distribution", moved["divergence"], (before.exp() * (before - after)).sum(-1))
    compare("off_distribution", moved["stream_change"], (streams - streams[0]).norm(dim=-1) / streams[0].norm(dim=-1))

    every = components(N_LAYERS, N_HEADS, not model.cfg.attn_only)
    _, acts = own_run(model, tokens, kept=[references.hook_of(c) for c in every])
    means = references.means(model, trials, every, at_query=True)
    at_end = references.written_by(model, tokens, every, at_query=True)
    everywhere = whole.written(every)
    for c in every:
        act, w_o = acts[references.hook_of(c)], None
        if c.is_head:
            act, w_o = act[:, :, c.head], model.blocks[c.layer].attn.W_O[c.head].detach()
            compare("means", means.z[c], act[:, -1:].double().mean(0))
        adds = act if w_o is None else (act.double() @ w_o.double()).to(act.dtype)
        compare("means", means.written[c], adds[:, -1:].double().mean(0))
        compare("written_by", at_end[c], adds[:, -1:])
        compare("CachedRun.written", everywhere[c], adds)
    try:
        graph_of(model)
    except UserError:
        return apart
    tape = record(model, tokens)
    compare("edges", tape.logits, runs[0][0])
    for c in every:
        message = tape.messages[str(c)]
        compare("edges", message, everywhere[c][:, -message.shape[1] :])
    return apart


def assert_alike(model: HookedTransformer, trials: Trials) -> None:
    tolerance = 0.02 if model.cfg.dtype == torch.bfloat16 else 2e-5
    worst = discrepancies(model, trials)
    assert max(worst.values()) < tolerance, worst


@pytest.fixture(scope="module")
def seven(small_pair: PairData) -> Trials:
    return small_pair.trials.take(slice(0, 7))


@pytest.mark.parametrize("name", BUILDS)
def test_every_build_is_known_for_what_it_is(name: str, seven: Trials) -> None:
    model = built(BUILDS[name])
    assert covers_model(model) == (name in COVERED), refusal(model)
    if name in COVERED:
        assert_alike(model, seven)


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_is_done_to_a_model_is_noticed(name: str, seven: Trials) -> None:
    model = built({})
    tokens = torch.from_numpy(seven.tokens)
    before = own_run(model, tokens)[0]
    assert covers_model(model)
    CHANGES[name](model)
    assert not covers_model(model)
    assert (own_run(model, tokens)[0] - before).abs().max() > 1e-2
    with pytest.raises(UserError):
        graph_of(model)
    assert_alike(model, seven)


def test_models_drawn_at_random(seven: Trials) -> None:
    random, counts = np.random.default_rng(0), {True: 0, False: 0}
    for _ in range(24):
        model, expected, name = drawn(random)
        assert covers_model(model) == expected, (name, refusal(model))
        assert_alike(model, seven)
        counts[expected] += 1
    assert min(counts.values()) >= 3


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("scaled by layer", {"cached_sweep", "CachedRun.sweep", "behaviour", "off_distribution", "means"}),
        ("capped scores", {"cached_sweep", "CachedRun.sweep", "behaviour", "off_distribution", "means"}),
        ("sinks", {"cached_sweep", "CachedRun.sweep", "behaviour", "off_distribution", "means"}),
        ("bidirectional", {"cached_sweep", "CachedRun.sweep", "behaviour"}),
        ("local", {"cached_sweep", "CachedRun.sweep", "behaviour"}),
    ],
)
def test_where_the_predicate_is_overruled_the_numbers_are_wrong(
    name: str, paths: set[str], seven: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the comparison can fail, at every place where the predicate is asked."""
    model = built(BUILDS[name])
    for room in ROOMS:
        monkeypatch.setattr(room, "covers_model", lambda model: True)
    worst = discrepancies(model, seven)
    assert min(worst[path] for path in paths) > 1e-3, worst


@pytest.mark.parametrize("name", ["hook on a block", "wrapped attention", "scale of one layer"])
def test_where_hooks_are_overlooked_the_numbers_are_wrong(
    name: str, seven: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = built({})
    CHANGES[name](model)
    for room in ROOMS:
        monkeypatch.setattr(room, "covers_model", lambda model: True)
    worst = discrepancies(model, seven)
    assert min(worst["cached_sweep"], worst["behaviour"], worst["off_distribution"]) > 1e-3, worst
