"""Whether weights were folded or centred after training: which processing, in words.

TransformerLens can rewrite a network into one with (nearly) the same outputs: LayerNorms folded into the matrices that
read them, value biases into b_O, the mean over d_model taken out of all that writes to the stream, the mean over the
vocabulary out of W_U. Such weights are not those that were trained, and what they write has other sizes, so they must
not pass as a checkpoint.

The one idea: every processing leaves an exact identity in the whole network that neither an initial state (LayerNorms
and biases at their start, matrices random) nor training satisfies. Training does approach the centred ones where it is
plain gradient descent with weight decay: no gradient reaches those means, and the decay takes them away; there they say
nothing, and are not asked.
"""

from collections.abc import Mapping

import torch

from hyst_interp.config import SetUp
from hyst_interp.model.shapes import in_layer_norm

CENTRED = 1e-4
"""|Σx| / √Σx² under which a float32 row counts as centred: 0 but for rounding, of order 1 for a random row."""
WRITERS = ("W_E", "W_pos", "W_O", "W_out")
"""Matrices whose last axis is the residual stream."""


def foldings(setup: SetUp, weights: Mapping[str, torch.Tensor], precision: float = 0.0) -> list[str]:
    """Every processing that the weights show, in words; none for weights as they were initialised or trained.

    Args:
        weights: All parameters of the model by name; LayerNorms may be missing altogether.
        precision: Spacing of the type in which the weights were kept, relative to 1; the coarser, the less exact the
            identities that are asked for.
    """
    norms = {name: value for name, value in weights.items() if in_layer_norm(name)}
    trained = any(bool(value.any()) for name, value in weights.items() if _is_bias(name))
    seen = []
    if setup.model.normalization_type == "LN" and not norms:
        seen.append("no LayerNorm parameters")
    elif norms and trained and all(bool((value == float(name.endswith(".w"))).all()) for name, value in norms.items()):
        seen.append("every LayerNorm exactly 1 and 0 in a trained network")
    if not any(bool(value.any()) for value in _named(weights, "b_V")) and any(
        bool(value.any()) for value in _named(weights, "b_O")
    ):
        seen.append("value biases exactly 0 beside b_O")
    optimizer = setup.training.optimizer
    if optimizer.name in ("sgd", "momentum") and optimizer.weight_decay > 0:
        return seen
    bound = max(CENTRED, 2 * precision)
    if _centred([value for kind in WRITERS for value in _named(weights, kind)], bound):
        seen.append("writing weights centred over d_model")
    if _centred(_named(weights, "W_U"), bound):
        seen.append("unembedding centred over the vocabulary")
    return seen


def _is_bias(name: str) -> bool:
    return name.rpartition(".")[2].startswith("b_")


def _named(weights: Mapping[str, torch.Tensor], kind: str) -> list[torch.Tensor]:
    return [value for name, value in weights.items() if name.rpartition(".")[2] == kind]


def _centred(matrices: list[torch.Tensor], bound: float) -> bool:
    """Whether every row sums to 0 but for rounding; matrices of nothing but zeros are no evidence."""
    if not all(bool(matrix.any()) for matrix in matrices):
        return False
    return all(
        bool((matrix.double().sum(-1).abs() <= bound * matrix.double().norm(dim=-1)).all()) for matrix in matrices
    )
