"""`info`: what a checkpoint is, where it comes from, and what it keeps; no network is built."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyst_interp.cli.arguments import Format, checkpoint
from hyst_interp.cli.output import WIDTH, Answer, check_format, schema

if TYPE_CHECKING:
    from hyst_interp.storage.manifest import Manifest


def info(
    path: Annotated[
        str, typer.Argument(metavar="CKPT", help="Checkpoint; a branch directory stands for its hold-000.")
    ],
    format: Format = "table",
) -> Answer:
    """Say what a checkpoint is: place in history, configuration, hashes, number of parameters.

    The hash of every file is checked against the recorded one, and the weights
    are looked through: values that are not finite are refused.

    \b
    Example:
      hyst-interp info checkpoints/seed-0/order-0/below
    """
    check_format(format)
    from hyst_interp.storage.manifest import MANIFEST, OPTIMIZER, WEIGHTS, describe

    directory, manifest = checkpoint(path)
    _look_through(directory, manifest, path)
    content = manifest.to_json()
    data: dict[str, Any] = {
        "schema": schema("info"),
        "checkpoint": describe(manifest),
        "provenance": content["provenance"],
        "setup": content["setup"],
        "state": manifest.state,
        "weights": manifest.weights,
        "parameters": parameters(directory / WEIGHTS),
        "optimizer": OPTIMIZER in manifest.files,
        "streams": content["streams"],
        "versions": content["versions"],
        "read": [str(directory / name) for name in (MANIFEST, *sorted(manifest.files))],
        "wrote": [],
    }
    rows = [{"name": name, "value": value} for name, value in _leaves(data)]
    return Answer(data, rows, lambda colour: _table(data), format)


def _look_through(directory: Path, manifest: "Manifest", path: str) -> None:
    """UserError where the tensors are not those of a network; torch is imported only for files that are whole."""
    from hyst_interp.storage.gate import admit_loaded
    from hyst_interp.storage.tensor_files import read_tensors

    admit_loaded(manifest.setup, *read_tensors(directory, manifest, path), path)


def parameters(weights: Path) -> int:
    """Number of parameters in a safetensors file, from its header alone (8 bytes of length, then JSON)."""
    with weights.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    total = 0
    for name, entry in header.items():
        if name != "__metadata__":
            count = 1
            for length in entry["shape"]:
                count *= length
            total += count
    return total


def _leaves(value: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _leaves(item, f"{name}.{key}" if name else key)]
    return [(name, value)]


def _table(data: dict[str, Any]) -> str:
    place, setup = data["provenance"], data["setup"]
    task, model, training = setup["task"], setup["model"], setup["training"]
    optimizer = training["optimizer"]
    mlp = f"MLP {model['d_mlp']}" if model["d_mlp"] else "no MLP"
    tau = "not yet away from p0" if place["tau"] is None else f"τ {place['tau']}"
    since = "not forked" if place["branch"] is None else f"position {place['position']}, {tau}"
    lines = {
        "checkpoint": data["checkpoint"],
        "clock": f"step {place['step']:,}, {since}",
        "mixture": f"p0 = {setup['p0']:g}",
        "task": f"{task['n_pairs']} pairs of {task['n_keys']} keys and {task['n_values']} values",
        "model": f"{model['n_layers']} layers of {model['n_heads']} heads, width {model['d_model']}, {mlp}",
        "parameters": f"{data['parameters']:,}",
        "training": f"{optimizer['name']}, learning rate {optimizer['lr']:g}, batch {training['batch_size']}",
        "optimizer": "kept" if data["optimizer"] else "not kept: it can be measured, not continued",
        "weights": data["weights"],
        "state": data["state"],
        "parent": _hash(place["parent"]),
        "anchor": _hash(place["anchor"]),
        "exposure": place["exposure"] or "not recorded",
        "written by": ", ".join(f"{name} {version}" for name, version in data["versions"].items()),
        "read": data["read"][0],
    }
    out = [f"{name:<11} {value}" for name, value in lines.items()]
    out[1:] = [line if len(line) <= WIDTH else _folded(line) for line in out[1:]]
    return "\n".join(out)


def _hash(ancestor: dict[str, str] | None) -> str:
    return "none recorded" if ancestor is None else ancestor["weights"]


def _folded(line: str) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent=" " * 12))
