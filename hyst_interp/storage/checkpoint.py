"""Checkpoints: a training state as three files, and back.

`weights.safetensors` holds the named parameters alone (no masks, no metadata), `optimizer.safetensors` the moments
keyed by parameter name, `checkpoint.json` the rest. Nothing in them depends on when or where they were written, so the
same configuration gives the same bytes. There is no pickle.
"""

from dataclasses import dataclass, replace
from html import escape
from importlib.metadata import version
from pathlib import Path

import safetensors.torch
import torch

from hyst_interp.errors import UserError
from hyst_interp.history.optimizer import Moments
from hyst_interp.history.state import TrainingState, tensors_hash
from hyst_interp.model.build import HookedTransformer, model_of
from hyst_interp.storage.atomic import new_directory
from hyst_interp.storage.gate import admit_for_saving, admit_loaded
from hyst_interp.storage.manifest import (
    MANIFEST,
    OPTIMIZER,
    WEIGHTS,
    Manifest,
    Provenance,
    describe,
    file_hash,
    read_manifest,
    to_text,
)
from hyst_interp.storage.tensor_files import read_tensors
from hyst_interp.streams import Stream
from hyst_interp.tasks.protocol import Task
from hyst_interp.tasks.registry import task_of

LIBRARIES = ("hyst-interp", "numpy", "torch", "transformer-lens")


@dataclass(frozen=True)
class Checkpoint:
    """A saved training state, verified against the hashes that it was saved with."""

    directory: Path
    manifest: Manifest
    weights: dict[str, torch.Tensor]
    moments: Moments | None
    """Optimizer moments by parameter name, or None where the checkpoint keeps none."""

    @property
    def task(self) -> Task:
        """The task it was trained on, with what it holds in the weights."""
        return task_of(self.manifest.setup)

    @property
    def provenance(self) -> Provenance:
        """Its place in history."""
        return self.manifest.provenance

    def model(self) -> HookedTransformer:
        """The network as an ordinary HookedTransformer, weights as they were trained (nothing folded or centred).

        Raises UserError where the weights do not have the shape that the manifest says.
        """
        try:
            return model_of(self.manifest.setup, self.weights)
        except ValueError as error:
            raise UserError(f"checkpoint '{self.directory}': {error}; make the checkpoint again.") from None

    def state(self) -> TrainingState:
        """The training state, to continue from; UserError where the optimizer was not saved."""
        if self.moments is None:
            raise UserError(
                f"checkpoint '{self.directory}' keeps no optimizer state, so it cannot be continued;"
                " use one saved with it (save_optimizer in the study)."
            )
        place = self.provenance
        return TrainingState(
            setup=self.manifest.setup,
            weights=self.weights,
            moments=self.moments,
            step=place.step,
            position=place.position,
            tau=place.tau,
            branch=place.branch,
            order=place.order,
        )

    def __repr__(self) -> str:
        keeps = "weights and optimizer" if self.moments is not None else "weights only"
        return f"Checkpoint({describe(self.manifest)}; {keeps}; weights {self.manifest.weights[:12]})"

    def facts(self) -> dict[str, str]:
        """What it is and keeps, as label → text; nothing is computed but the number of parameters."""
        place, setup = self.provenance, self.manifest.setup
        model = setup.model
        mlp = f", MLP {model.d_mlp}" if model.d_mlp else ", no MLP"
        count = sum(tensor.numel() for tensor in self.weights.values())
        updates = [f"{place.step:,} since initialisation"]
        if place.branch is not None:
            updates.append(f"{place.position:,} since the fork")
        hashes = {"weights": self.manifest.weights, "state": self.manifest.state}
        hashes |= {"anchor": place.anchor.weights} if place.anchor else {}
        facts = {
            "what": describe(self.manifest),
            "seed": str(setup.seed),
            "branch": f"from {place.branch}" if place.branch else "none: an anchor",
            "order": _or_dash(place.order),
            "hold": _or_dash(place.hold),
            "τ": _or_dash(place.tau),
            "updates": ", ".join(updates),
            "model": f"{model.n_layers} layers of {model.n_heads} heads, d_model {model.d_model}{mlp}",
            "keeps": f"{count:,} weights" + (", optimizer moments" if self.moments is not None else ", no optimizer"),
            **{f"hash of {name}": value for name, value in hashes.items()},
        }
        facts |= {name: value for name in ("schedule", "exposure") if (value := getattr(place, name))}
        return facts | {"directory": str(self.directory)}

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self.facts().items()
        )
        return f"<div><b>Checkpoint</b><table>{rows}</table></div>"


def _or_dash(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def stream_names(setup_seed: int, order: int | None) -> dict[str, str]:
    """Names of the random streams that a state depends on, by role."""
    names = {role: Stream(role, setup_seed).name for role in ("initialisation", "permutation", "anchor")}
    if order is not None:
        names |= {role: Stream(role, setup_seed, order).name for role in ("excursion", "hold")}
    return names


def save(
    state: TrainingState, directory: str | Path, provenance: Provenance | None = None, optimizer: bool = True
) -> Manifest:
    """Write `state` as a checkpoint directory, whole or not at all; returns its manifest.

    `provenance` adds what a state does not know of itself (parents, schedule, hold); `optimizer` keeps the moments.
    Weights and moments pass the gate (`storage/gate.py`) first: UserError, before anything is written, for names or
    shapes that are not the model's, values that are not finite, and folded weights.
    """
    weights, moments = admit_for_saving(state.setup, state.weights, state.moments)
    state = replace(state, weights=weights, moments=moments)
    place = Provenance(step=state.step) if provenance is None else provenance
    clock = {"step": state.step, "position": state.position, "tau": state.tau}
    place = Provenance.model_validate(
        place.model_dump() | clock | {"branch": state.branch, "order": state.order},
    )
    with new_directory(Path(directory)) as part:
        safetensors.torch.save_file(dict(state.weights), part / WEIGHTS)
        files = [WEIGHTS]
        if optimizer:
            flat = {f"{name}/{key}": value for name, kept in state.moments.items() for key, value in kept.items()}
            safetensors.torch.save_file(flat, part / OPTIMIZER)
            files.append(OPTIMIZER)
        manifest = Manifest(
            setup=state.setup,
            provenance=place,
            state=state.hash(),
            weights=state.weights_hash(),
            streams=stream_names(state.setup.seed, state.order),
            files={name: file_hash(part / name) for name in files},
            versions={name: version(name).split("+")[0] for name in LIBRARIES},
        )
        (part / MANIFEST).write_text(to_text(manifest), "utf-8")
    return manifest


def load(path: str | Path) -> Checkpoint:
    """The checkpoint at `path` (a branch directory stands for its hold-000), verified; UserError in one sentence.

    Every file and tensor is checked against its recorded hash, then passes the gate (`storage/gate.py`): what is not
    finite or does not fit the model is refused, folded weights and types other than float32 bring a `WeightsWarning`.
    """
    directory, manifest = read_manifest(path)
    weights, moments = read_tensors(directory, manifest, path)
    if tensors_hash(weights) != manifest.weights:
        raise UserError(f"checkpoint '{path}': the weights' hash is not the recorded one; make the checkpoint again.")
    stored = Checkpoint(directory, manifest, weights, moments)
    if moments is not None and stored.state().hash() != manifest.state:
        raise UserError(f"checkpoint '{path}': the optimizer's hash is not the recorded one; make it again.")
    weights, moments = admit_loaded(manifest.setup, weights, moments, path)
    return Checkpoint(directory, manifest, weights, moments)
