"""What was measured on some networks, kept for as long as they are the networks that it was measured on.

A notebook holds the networks of a pair and may do anything with them: load other weights, write into a parameter, train
on, hang hooks on, replace a module. A number that was kept from before would then stand beside numbers of now. So every
number that is kept goes through one `Kept`, which looks at a mark of the networks each time it is asked, and forgets
everything once the mark is another. The mark is made of bytes, for a write through `.data` bumps no version counter.

What a hook, or a method that somebody replaced, does cannot be compared (it may remember something itself), so a
network that carries any has no mark, and nothing of it is kept. Who measures what is not this module's.
"""

import hashlib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import torch
from torch.nn.modules import module as torch_modules

from hyst_interp.model.hooked import Hooked
from hyst_interp.tasks.trials import Trials

HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)
"""Where torch keeps a module's hooks; TransformerLens's own are registered there too."""

Value = TypeVar("Value")


class Kept:
    """Values by key, forgotten when the mark is another than the one that they were made under.

    Args:
        mark: what values depend on, as text that is different whenever they can be; None where that cannot be told.
    """

    def __init__(self, mark: Callable[[], str | None]) -> None:
        self._mark = mark
        self._made_under: str | None = None
        self._values: dict[tuple, Any] = {}

    def get(self, key: tuple, measure: Callable[[], Value]) -> Value:
        """The value of `key`, measured unless it is known; a copy, so that nobody writes into what is kept."""
        if not self._current():
            return measure()
        if key not in self._values:
            self._values[key] = measure()
        return deepcopy(self._values[key])

    def has(self, key: tuple) -> bool:
        """Whether the value of `key` is known as things are now."""
        return self._current() and key in self._values

    def _current(self) -> bool:
        """Forget what is out of date; whether anything can be kept at all."""
        mark = self._mark()
        if mark is None or mark != self._made_under:
            self._values.clear()
        self._made_under = mark
        return mark is not None


def network_mark(model: Hooked) -> str | None:
    """Hash of what a network's numbers depend on, its device aside; None for one with hooks or replaced methods.

    That is: names, types, and bytes of parameters and buffers; the modules' classes, modes, and plain attributes; and
    the configuration. Equal for two networks that are built alike from the same weights.
    """
    digest = hashlib.sha256()
    settings: dict[int, Any] = {id(model.cfg): model.cfg}
    if torch_modules._has_any_global_hook():
        return None
    for name, module in model.named_modules():  # type: ignore[attr-defined]
        if any(getattr(module, table, None) for table in HOOKS) or "forward" in vars(module):
            return None
        if (own := getattr(module, "cfg", None)) is not None:
            settings.setdefault(id(own), own)
        digest.update(f"{name}:{type(module).__module__}.{type(module).__qualname__}:{_plain(vars(module))};".encode())
    for cfg in settings.values():
        digest.update(f"{_plain(vars(cfg), leave_out=('device',))};".encode())
    for group in (model.named_parameters(), model.named_buffers()):  # type: ignore[attr-defined]
        for name, tensor in group:
            digest.update(f"{name}:{tuple(tensor.shape)}:{tensor.dtype};".encode())
            digest.update(_bytes(tensor).data)
    return digest.hexdigest()


def trials_mark(trials: Trials) -> str:
    """Hash of every array of the trials."""
    digest = hashlib.sha256()
    for field in fields(trials):
        value = getattr(trials, field.name)
        if isinstance(value, np.ndarray):
            digest.update(f"{field.name}:{value.shape}:{value.dtype};".encode())
            digest.update(np.ascontiguousarray(value).data)
        else:
            digest.update(f"{field.name}:{value!r};".encode())
    return digest.hexdigest()


def _plain(attributes: dict[str, Any], leave_out: tuple[str, ...] = ()) -> str:
    """Numbers, words, and types as they are, functions by their names; what is none of these is left out."""
    described = []
    for name, value in sorted(attributes.items()):
        if name.startswith("_") or name in leave_out:
            continue
        if value is None or isinstance(value, bool | int | float | str | list | tuple | torch.dtype):
            described.append(f"{name}={value!r}")
        elif callable(value) and not isinstance(value, torch.nn.Module):
            described.append(f"{name}={getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}")
    return ",".join(described)


def _bytes(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
