"""What stands beside every checkpoint: its configuration, its place in history, and the hash of every file.

Reading and checking a manifest needs no tensor library, so a missing, truncated, or foreign checkpoint, or a pair that
cannot be compared, is refused before anything slow is imported.
"""

import hashlib
import json
from pathlib import Path
from typing import Literal

from hyst_interp.config import SetUp
from hyst_interp.config.frozen import Frozen, parse
from hyst_interp.errors import UserError

MANIFEST = "checkpoint.json"
WEIGHTS = "weights.safetensors"
OPTIMIZER = "optimizer.safetensors"
SCHEMA = "hyst-interp/checkpoint/1"


class Ancestor(Frozen):
    """Where a checkpoint came from, by hash."""

    state: str
    """Hash of the whole training state."""
    weights: str
    """Hash of its weights."""


class Provenance(Frozen):
    """A checkpoint's place in history."""

    branch: Literal["below", "above"] | None = None
    """Side from which the target mixture was approached; none for an anchor."""
    order: int | None = None
    """Data order of the branch."""
    step: int
    """Updates since initialisation."""
    position: int = 0
    """Updates since the fork."""
    tau: int | None = None
    """Updates since the last update at p ≠ p0."""
    hold: int | None = None
    """Updates since arrival, where the schedule has ended."""
    formed_at: int | None = None
    """Step at which the anchor's contextual route had formed."""
    parent: Ancestor | None = None
    """The state that it was advanced or forked from."""
    anchor: Ancestor | None = None
    """The anchor that its branch was forked from."""
    schedule: str | None = None
    """Hash of the branch's schedule."""
    exposure: str | None = None
    """Hash of the multiset of (mixture, batch): the same for both branches."""


class Manifest(Frozen):
    """The content of `checkpoint.json`."""

    schema_: Literal["hyst-interp/checkpoint/1"] = SCHEMA
    setup: SetUp
    provenance: Provenance
    state: str
    """Hash of the whole training state, moments included."""
    weights: str
    """Hash of the weights."""
    streams: dict[str, str]
    """Names of the random streams that it depends on."""
    files: dict[str, str]
    """SHA-256 of every other file of the checkpoint."""
    versions: dict[str, str]
    """Versions of the libraries that wrote it."""


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_checkpoint(path: str | Path) -> Path:
    """The checkpoint directory that `path` names; a branch directory stands for its hold-000.

    Raises UserError where there is none.
    """
    given = Path(path)
    if not given.exists():
        raise UserError(f"checkpoint '{path}' does not exist; check the path.")
    for directory in (given, given / "hold-000", given / "anchor"):
        if (directory / MANIFEST).is_file():
            if directory.name == "anchor" and directory != given:
                raise UserError(f"'{path}' is the directory of a seed; name one of its checkpoints, as {directory}.")
            return directory
    raise UserError(
        f"'{path}' is not a checkpoint: it has no {MANIFEST}; name a directory that 'hyst-interp reproduce' wrote."
    )


def to_text(manifest: Manifest) -> str:
    """`checkpoint.json` as text; equal manifests give equal bytes."""
    content = manifest.to_json()
    return json.dumps({"schema": content.pop("schema_"), **content}, indent=1, sort_keys=True) + "\n"


def read_manifest(path: str | Path) -> tuple[Path, Manifest]:
    """Directory and manifest of a checkpoint whose files are whole; UserError in one sentence otherwise."""
    directory = find_checkpoint(path)
    try:
        data = json.loads((directory / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        raise UserError(
            f"checkpoint '{path}': {MANIFEST} is truncated or no JSON; make the checkpoint again."
        ) from None
    schema = data.pop("schema", None) if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise UserError(f"checkpoint '{path}' has schema '{schema}', expected '{SCHEMA}'; it is not ours to read.")
    manifest = parse(Manifest, data, f"checkpoint '{path}'")
    for name, recorded in manifest.files.items():
        if not (directory / name).is_file():
            raise UserError(f"checkpoint '{path}' is incomplete: {name} is missing; make the checkpoint again.")
        if file_hash(directory / name) != recorded:
            raise UserError(f"checkpoint '{path}': {name} is truncated or altered (its hash is not the recorded one).")
    return directory, manifest


def describe(manifest: Manifest) -> str:
    """A checkpoint in a few words: `seed 0, order 1, from below, hold 25`."""
    place = manifest.provenance
    if place.branch is None:
        return f"seed {manifest.setup.seed}, anchor, {place.step} updates"
    hold = f", hold {place.hold}" if place.hold is not None else f", position {place.position}"
    return f"seed {manifest.setup.seed}, order {place.order}, from {place.branch}{hold}"


def refuse_unlike(below: Manifest, above: Manifest, ordered: bool = True) -> None:
    """UserError unless two checkpoints can be compared, and (if `ordered`) are given as from below, from above."""
    for name in ("task", "model"):
        a, b = getattr(below.setup, name).to_json(), getattr(above.setup, name).to_json()
        for field in a:
            if a[field] != b[field]:
                raise UserError(
                    f"checkpoints differ in {name}.{field}: {a[field]} and {b[field]};"
                    " compare two histories of the same task and shape."
                )
    if below.setup.seed != above.setup.seed:
        raise UserError(
            f"checkpoints have seeds {below.setup.seed} and {above.setup.seed}, hence different permutations;"
            " compare two histories of one seed."
        )
    sides = (below.provenance.branch, above.provenance.branch)
    if ordered and sides in (("below", "below"), ("above", "above")):
        raise UserError(f"both checkpoints are from {sides[0]}; give one from below and one from above.")
    if ordered and (sides[0] == "above" or sides[1] == "below"):
        raise UserError(
            f"checkpoints are in the wrong order: the first is {_side(sides[0])}, the second {_side(sides[1])};"
            " give the branch from below first."
        )


def _side(branch: str | None) -> str:
    return "an anchor" if branch is None else f"from {branch}"
