"""The tensors of a checkpoint's files, as they lie there: weights, and moments by parameter.

No pickle, no network, no judgement: hashes of the files were checked with the manifest, and what the tensors hold is
for the gate to judge.
"""

from pathlib import Path

import safetensors
import safetensors.torch
import torch

from hyst_interp.errors import UserError
from hyst_interp.storage.manifest import OPTIMIZER, WEIGHTS, Manifest


def read_tensors(
    directory: Path, manifest: Manifest, path: object
) -> tuple[dict[str, torch.Tensor], dict[str, dict[str, torch.Tensor]] | None]:
    """Weights by name, and moments by parameter and kind (None where the manifest lists none).

    Raises UserError, with the checkpoint's name as `path`, where a file is no safetensors file.
    """
    try:
        weights = safetensors.torch.load_file(directory / WEIGHTS)
        flat = safetensors.torch.load_file(directory / OPTIMIZER) if OPTIMIZER in manifest.files else None
    except (safetensors.SafetensorError, OSError) as error:
        raise UserError(f"checkpoint '{path}' cannot be read ({error}); make the checkpoint again.") from None
    if flat is None:
        return weights, None
    moments: dict[str, dict[str, torch.Tensor]] = {}
    for name, value in flat.items():
        parameter, _, kind = name.rpartition("/")
        moments.setdefault(parameter, {})[kind] = value
    return weights, moments
