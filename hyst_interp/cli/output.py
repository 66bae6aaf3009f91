"""What a command answers, in three formats: a table for people, JSON and CSV for programs.

An answer holds its JSON object, its rows for CSV, and a function that lays out its table, so that the table's library
is imported only where a table is wanted. Undefined numbers are null (an empty cell in CSV) with a reason beside them;
a NaN in an answer is our fault, and is refused.
"""

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyst_interp.errors import UserError

FORMATS = ("table", "json", "csv")
WIDTH = 80
"""Columns of every table."""


@dataclass(frozen=True)
class Answer:
    """What a command found, before it is written."""

    data: dict[str, Any]
    """The JSON object; its first key is `schema`."""
    rows: Sequence[Mapping[str, Any]]
    """One mapping a CSV row; nested mappings become `outer.inner` columns."""
    table: Callable[[bool], str]
    """Lays the table out, with colour or without."""
    format: str = "table"


def check_format(name: str) -> str:
    """The format, or a UserError for one that does not exist."""
    if name not in FORMATS:
        raise UserError(f"format '{name}' does not exist; use one of {', '.join(FORMATS)}.")
    return name


def schema(command: str) -> str:
    """The `schema` of a command's JSON object."""
    return f"hyst-interp/{command}/1"


def finite(value: Any) -> Any:
    """A number, or nested lists of numbers, with None for whatever is not finite."""
    if isinstance(value, list):
        return [finite(element) for element in value]
    return value + 0.0 if math.isfinite(value) else None  # + 0.0 turns −0 into 0


def write(answer: Answer) -> None:
    """Put an answer on standard output, in its format."""
    out = sys.stdout
    encoding = (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "")
    if encoding != "utf8" and hasattr(out, "reconfigure"):
        out.reconfigure(errors="replace")  # type: ignore[union-attr]
    if answer.format == "json":
        text = json.dumps(answer.data, indent=2, allow_nan=False, ensure_ascii=encoding != "utf8") + "\n"
    elif answer.format == "csv":
        text = to_csv(answer.rows)
    else:
        text = answer.table(out.isatty()).rstrip("\n") + "\n"
    out.write(text)
    out.flush()


def to_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """CSV with a header; columns in the order in which they first appear."""
    flattened = [dict(_flat(row)) for row in rows]
    columns = list(dict.fromkeys(name for row in flattened for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flattened)
    return text.getvalue()


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"column '{prefix}{name}' holds {value}; give None with a reason")
            yield f"{prefix}{name}", json.dumps(value) if isinstance(value, list) else value


def on_terminal(text: str) -> None:
    """A line on standard error while people wait; nothing where no one looks."""
    if sys.stderr.isatty():
        note(text)


def note(text: str) -> None:
    """A line for people, on standard error."""
    print(text, file=sys.stderr, flush=True)
