"""The one gate that weights and moments pass, both when they are saved and when they are loaded.

What comes out is what the rest of the package may rely on: every parameter of the model and nothing else, of the
model's shapes, finite, float32, on the CPU, contiguous, and sharing memory with nothing (so tied and transposed weights
can be stored). What cannot be made so is refused in one sentence. A change of type is said, as a `WeightsWarning`; what
becomes of folded weights is the caller's to say, for they are refused on saving and warned of on loading.

The gate changes no value of a float32 tensor and reads no file. Hashes are checked before it: a NaN that was saved by
an older version has a right hash.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping

import torch

from hyst_interp.config import SetUp
from hyst_interp.errors import UserError, WeightsWarning
from hyst_interp.model.shapes import in_layer_norm, parameter_shapes
from hyst_interp.storage.folding import foldings

Named = Mapping[str, torch.Tensor]
Kept = Mapping[str, Named]
"""Parameter name → moment name → tensor."""


def admit_for_saving(setup: SetUp, weights: Named, moments: Kept) -> tuple[dict[str, torch.Tensor], Kept]:
    """Copies of `weights` and `moments` that can be saved.

    Raises UserError for anything that is not a network of this set-up as it was trained.
    """
    clean, kept = _admit(setup, weights, moments, "the state to be saved", "mend the state and save it again", _refuse)
    return clean, kept or {}


def admit_loaded(
    setup: SetUp, weights: Named, moments: Kept | None, path: object
) -> tuple[dict[str, torch.Tensor], Kept | None]:
    """Copies of what a checkpoint at `path` holds, ready to be used.

    Folded weights come with a `WeightsWarning`. Where their LayerNorms are gone, identities take their place, and the
    moments, which belonged to the weights before folding, are given up (None).

    Raises UserError for anything that is not a network of this set-up.
    """
    return _admit(setup, weights, moments, f"checkpoint '{path}'", "make the checkpoint again", _warn)


def _refuse(owner: str, kinds: str) -> None:
    raise UserError(f"{owner} has folded weights ({kinds}); save the weights as they were trained.")


def _warn(owner: str, kinds: str) -> None:
    _say(f"{owner} has folded weights ({kinds}), so sizes inside it are not those of the network that was trained.")


def _say(sentence: str) -> None:
    warnings.warn(sentence, WeightsWarning, stacklevel=6)


def _admit(
    setup: SetUp,
    weights: Named,
    moments: Kept | None,
    owner: str,
    remedy: str,
    on_folded: Callable[[str, str], None],
) -> tuple[dict[str, torch.Tensor], Kept | None]:
    shapes = parameter_shapes(setup.model, setup.task.d_vocab, setup.task.n_ctx)
    norms = {name for name in shapes if in_layer_norm(name)}
    unnormalised = bool(norms) and shapes.keys() - weights.keys() == norms
    expected = {name: shape for name, shape in shapes.items() if not (unnormalised and name in norms)}
    _check_names(weights, expected, f"{owner}: parameter", remedy)
    if unnormalised:
        moments = None
    if moments:
        _check_names(moments, expected, f"{owner}: moments of", remedy)
    tensors = {f"parameter '{name}'": (value, shapes[name]) for name, value in weights.items()}
    for name, kinds in (moments or {}).items():
        tensors |= {f"moment '{name}/{kind}'": (value, shapes[name]) for kind, value in kinds.items()}
    for label, (value, shape) in tensors.items():
        _check_kind(value, shape, f"{owner}: {label}", remedy)
    clean = {name: _copy(value) for name, value in weights.items()}
    kept = None if moments is None else {n: {k: _copy(v) for k, v in kinds.items()} for n, kinds in moments.items()}
    _check_finite({f"parameter '{name}'": value for name, value in clean.items()}, owner, remedy)
    _check_finite(
        {f"moment '{n}/{k}'": v for n, kinds in (kept or {}).items() for k, v in kinds.items()}, owner, remedy
    )
    precision = max(torch.finfo(value.dtype).eps for value in weights.values())
    if folded := foldings(setup, clean, precision):
        on_folded(owner, ", ".join(folded))
    if unnormalised:
        clean |= {name: torch.full(shapes[name], float(name.endswith(".w"))) for name in norms}
    for dtype, count in Counter(value.dtype for value, _ in tensors.values()).items():
        if dtype is not torch.float32:
            _say_converted(owner, str(dtype).removeprefix("torch."), torch.finfo(dtype).bits < 32, count)
    return clean, kept


def _check_names(given: Mapping[str, object], expected: Mapping[str, object], owner: str, remedy: str) -> None:
    for names, complaint in (
        (sorted(given.keys() - expected.keys()), "not in its model"),
        (sorted(expected.keys() - given.keys()), "missing"),
    ):
        if names:
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            raise UserError(f"{owner} '{names[0]}'{more} is {complaint}; {remedy}.")


def _check_kind(value: object, shape: tuple[int, ...], label: str, remedy: str) -> None:
    if not isinstance(value, torch.Tensor) or value.is_meta or value.layout is not torch.strided:
        raise UserError(f"{label} is {_kind(value)}, no dense torch tensor with values; {remedy}.")
    if not value.is_floating_point():
        raise UserError(f"{label} has type {value.dtype}, no floating-point one; {remedy}.")
    if tuple(value.shape) != shape:
        raise UserError(f"{label} has shape {tuple(value.shape)}, but its model has {shape}; {remedy}.")


def _kind(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return "on the meta device" if value.is_meta else str(value.layout)
    return f"a {type(value).__name__}"


def _copy(value: torch.Tensor) -> torch.Tensor:
    return value.detach().to("cpu", torch.float32, copy=True, memory_format=torch.contiguous_format)


def _check_finite(tensors: Named, owner: str, remedy: str) -> None:
    bad = sorted(label for label, value in tensors.items() if not bool(value.isfinite().all()))
    if bad:
        value = tensors[bad[0]]
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        counts = f"{int(value.isnan().sum())} NaN and {int(value.isinf().sum())} infinite"
        raise UserError(f"{owner}: {bad[0]}{more} has {counts} values among {value.numel():,} in float32; {remedy}.")


def _say_converted(owner: str, dtype: str, half: bool, count: int) -> None:
    how = f"at {dtype}'s lower precision" if half else "rounded"
    tensors = "tensor is" if count == 1 else "tensors are"
    _say(f"{owner}: {count} {tensors} {dtype} and taken as float32, {how}.")
