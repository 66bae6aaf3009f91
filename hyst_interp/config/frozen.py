"""The base of every configuration: immutable, no unknown fields, and a stable hash of its content.

The one idea: two configurations are the same exactly when their canonical JSON is the same, so a hash of that text can
name the inputs of a stage. Nothing here reads files.
"""

import hashlib
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hyst_interp.errors import UserError


def canonical_json(value: Any) -> str:
    """The one text of a JSON value: sorted keys, no spaces, so that equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 (64 hexadecimal characters) of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


class Frozen(BaseModel):
    """A configuration object: immutable, refuses unknown fields, hashable by content."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready content, every field, tuples as lists."""
        return self.model_dump(mode="json")

    def digest(self) -> str:
        """SHA-256 of the content."""
        return digest(self.to_json())


F = TypeVar("F", bound=Frozen)


def parse(kind: type[F], data: Any, source: str) -> F:
    """`kind` built from plain data; a refusal becomes one sentence that names `source`, the field and its value."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{source}: {sentence(error)}") from None


def sentence(error: ValidationError) -> str:
    """The first complaint of a pydantic error as one sentence: the field, what is wrong, the value."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the configuration"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        return f"unknown field '{where}'; remove it or correct its spelling{more}."
    if first["type"] == "missing":
        return f"field '{where}' is missing; add it{more}."
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    if first["type"] == "value_error":
        return f"{message}{more}."
    return f"field '{where}' is {first['input']!r}: {message[0].lower()}{message[1:]}{more}."
