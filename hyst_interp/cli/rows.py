"""Rows of a question as plain data, their figure, and what the last lines of a table say."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyst_interp.cli.output import finite

if TYPE_CHECKING:
    from hyst_interp.analysis.rows import Rows


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its estimates as dictionaries, and null for what is not finite."""
    plain_row: dict[str, Any] = {}
    for name, value in row.items():
        if hasattr(value, "to_dict"):
            plain_row[name] = value.to_dict()
        elif isinstance(value, float):
            plain_row[name] = finite(value)
        else:
            plain_row[name] = list(value) if isinstance(value, tuple) else value
    return plain_row


def draw(rows: "Rows", file: Path | None, data: dict[str, Any]) -> None:
    """Write the figure of the rows where one is wanted, and say so in the answer."""
    if file is None:
        return
    from hyst_interp.plots.write import write_figure

    write_figure(rows.figure(), file)
    data["wrote"] = [str(file)]


def written(data: Mapping[str, Any]) -> list[str]:
    """The table's last line where a file was written."""
    return [f"wrote {name}" for name in data.get("wrote", ())]


def exactly(largest: float) -> str:
    """A control that has to be 0, in words."""
    return "0 exactly" if largest == 0 else f"{largest:.2g}, not 0"
