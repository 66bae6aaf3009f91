"""Install hooks, count that each fires, and leave the model exactly as it was found, also on an error.

Our hooks are registered on the hook points' own module hooks, so the user's TransformerLens hooks are neither removed
nor reordered; ours run after them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from hyst_interp.interventions.hooks import Hook, NamedHook
from hyst_interp.model.hooked import Hooked


class HookNeverFiredError(RuntimeError):
    """A requested hook was not reached by the forward pass."""


@contextmanager
def installed(model: Hooked, hooks: Sequence[NamedHook]) -> Iterator[None]:
    """The model with `hooks` in place while the block runs.

    Raises ValueError for a hook that the model does not have, HookNeverFiredError for one that was not reached.
    """
    missing = [name for name, _ in hooks if name not in model.hook_dict]
    if missing:
        raise ValueError(f"hook '{missing[0]}' does not exist in this model; see model.hook_dict for its names")
    fired = [0] * len(hooks)
    handles = []
    try:
        for index, (name, hook) in enumerate(hooks):
            point = model.hook_dict[name]
            handles.append(point.register_forward_hook(_counting(hook, point, fired, index)))
        yield
        silent = [name for (name, _), count in zip(hooks, fired, strict=True) if not count]
        if silent:
            raise HookNeverFiredError(f"hook '{silent[0]}' was installed and never fired; the edit had no effect")
    finally:
        for handle in handles:
            handle.remove()


def _counting(hook: Hook, point: object, fired: list[int], index: int):
    def forward_hook(module: object, args: object, output: torch.Tensor) -> torch.Tensor:
        fired[index] += 1
        return hook(output, hook=point)

    return forward_hook


def capture(model: Hooked, tokens: torch.Tensor, names: Sequence[str]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Logits [trial, pos, d_vocab] and clones of the named activations of one forward pass."""
    activations: dict[str, torch.Tensor] = {}

    def recorder(name: str) -> Hook:
        def record(act: torch.Tensor, hook: object) -> torch.Tensor:
            activations[name] = act.detach().clone()
            return act

        return record

    with torch.no_grad(), installed(model, [(name, recorder(name)) for name in names]):
        logits = model(tokens)
    return logits, activations
