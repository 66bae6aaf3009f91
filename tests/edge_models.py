"""Networks and an oracle for the tests of edges: noisy weights everywhere, so that no bias is 0 by chance."""

from collections.abc import Iterable, Sequence
from copy import deepcopy

import numpy as np
import torch
from transformer_lens import HookedTransformer

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.config import ModelConfig, SetUp
from hyst_interp.model.build import initial_weights, model_from
from hyst_interp.questions.edges.graph import Edge
from hyst_interp.streams import Stream
from hyst_interp.tasks.registry import task_of
from hyst_interp.tasks.trials import Trials


def noisy(seed: int = 5, scale: float = 0.15, **change) -> HookedTransformer:
    """A network of the small task with every parameter, biases and LayerNorms too, off its initial value."""
    config = ModelConfig(d_model=32, n_heads=2, d_mlp=48).model_copy(update=change)
    weights = initial_weights(config, 13, 7, Stream("initialisation", 101))
    random = torch.Generator().manual_seed(seed)
    return model_from(
        config,
        13,
        7,
        {name: value + scale * torch.randn(value.shape, generator=random) for name, value in weights.items()},
    )


def silence(model: HookedTransformer, *names: str) -> HookedTransformer:
    """The network with parameters set to 0: `0.W_out`, `1.W_O.0` (one head), …"""
    with torch.no_grad():
        for name in names:
            layer, kind, *head = name.split(".")
            block = model.blocks[int(layer)]
            parameter = getattr(block.mlp if kind in ("W_out", "b_out") else block.attn, kind)
            (parameter[int(head[0])] if head else parameter).zero_()
    return model


def linear(n_layers: int = 2) -> HookedTransformer:
    """A network whose margin is linear in what every input reads: no LayerNorm, even attention, ReLUs always on."""
    model = noisy(n_layers=n_layers, normalization_type="none", act_fn="relu")
    silence(model, *(f"{layer}.{name}" for layer in range(n_layers) for name in ("W_Q", "b_Q")))
    with torch.no_grad():
        for block in model.blocks:
            block.mlp.b_in += 1000.0
            block.mlp.W_out *= 0.02
    return model


def twins_of(setup: SetUp, n: int = 7, kind: str = "value") -> Trials:
    """As many trials as a prompt has positions, so that a mix-up of axes does not fail by its shape."""
    task = task_of(setup)
    return task.twin(evaluation_trials(task, n), kind)


def what_sources_write(model: HookedTransformer, tokens: np.ndarray) -> dict[str, torch.Tensor]:
    """Source → what it writes at every position, from TransformerLens's own cache."""
    with torch.no_grad():
        _, cache = model.run_with_cache(torch.from_numpy(tokens))
    found = {"embed": cache["hook_embed"] + cache["hook_pos_embed"]}
    for layer in range(model.cfg.n_layers):
        for head in range(model.cfg.n_heads):
            z = cache[f"blocks.{layer}.attn.hook_z"][:, :, head]
            found[f"L{layer}H{head}"] = z @ model.blocks[layer].attn.W_O[head].detach()
        if not model.cfg.attn_only:
            found[f"L{layer}MLP"] = cache[f"blocks.{layer}.hook_mlp_out"]
    return found


def oracle(
    model: HookedTransformer, tokens: np.ndarray, donor: dict[str, torch.Tensor], edges: Iterable[Edge]
) -> torch.Tensor:
    """Logits at the query under patched edges, by TransformerLens's split inputs and whole forward."""
    split = deepcopy(model)
    split.set_use_split_qkv_input(True)
    if not model.cfg.attn_only:
        split.set_use_hook_mlp_in(True)
    written: dict[str, torch.Tensor] = {}
    hooks: list = []

    def keep(name: str, part=lambda act: act):
        def hook(act, hook):
            written[name] = written.get(name, 0) + part(act) if name == "embed" else part(act)
            return act

        return hook

    hooks += [("hook_embed", keep("embed")), ("hook_pos_embed", keep("embed"))]
    for layer in range(model.cfg.n_layers):
        for head in range(model.cfg.n_heads):
            w_o = model.blocks[layer].attn.W_O[head].detach()
            part = lambda z, head=head, w_o=w_o: z[:, :, head] @ w_o  # noqa: E731
            hooks.append((f"blocks.{layer}.attn.hook_z", keep(f"L{layer}H{head}", part)))
        if not model.cfg.attn_only:
            hooks.append((f"blocks.{layer}.hook_mlp_out", keep(f"L{layer}MLP")))

    def patch(edge: Edge):
        def hook(act, hook):
            difference = donor[edge.source] - written[edge.source]
            if edge.slot == "in":
                return act + difference
            act = act.clone()
            act[:, :, int(edge.target.split("H")[1])] += difference
            return act

        return hook

    last = model.cfg.n_layers - 1
    for edge in edges:
        layer = edge.target[1:].split("H")[0].split("M")[0]
        if edge.target == "logits":
            place = f"blocks.{last}.hook_resid_post"
        elif edge.slot == "in":
            place = f"blocks.{layer}.hook_mlp_in"
        else:
            place = f"blocks.{layer}.hook_{edge.slot}_input"
        hooks.append((place, patch(edge)))
    with torch.no_grad():
        return split.run_with_hooks(torch.from_numpy(tokens), fwd_hooks=hooks)[:, -1]


def some_sets(edges: Sequence[Edge], n: int = 6) -> list[list[Edge]]:
    """Random sets of edges, from few to most."""
    random = np.random.default_rng(3)
    return [[one for one in edges if random.random() < share] for share in np.linspace(0.1, 0.9, n)]
