"""Maps in a terminal: whole numbers of one unit, a row a layer, head, or MLP, a column a position or role."""

import math
from typing import TYPE_CHECKING

from hyst_interp.cli.output import WIDTH

if TYPE_CHECKING:
    import xarray as xr


def map_lines(title: str, one: "xr.DataArray", units: str, colour: bool) -> list[str]:
    """One map as whole numbers of a unit that is chosen so that they have at most two digits.

    Args:
        one: dims (layer[, head], pos|role), with the `site` in its attrs; cut into panels where it is too wide.
    """
    import numpy as np

    flat = one if "head" not in one.dims else one.stack(row=("layer", "head"))
    place = str(one.dims[-1])
    flat = flat.transpose(..., place)
    values = flat.values
    labels = _rows(flat)
    largest = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 0.0
    power = math.ceil(math.log10(largest / 99.4)) if largest > 0 else 0
    unit = 10.0**power
    columns = [str(name) for name in flat[place].values]
    widths = [max(4, len(name) + 1) for name in columns]
    first = max(len(label) for label in labels)
    lines = [f"{title}: in units of {unit:g} {units}, largest {largest:.3g}"]
    for part in _panels(widths, WIDTH - first):
        lines.append(" " * first + "".join(name.rjust(w) for name, w in zip(columns[part], widths[part], strict=True)))
        for label, row in zip(labels, values, strict=True):
            cells = zip(row[part], widths[part], strict=True)
            lines.append(label.ljust(first) + "".join(_cell(v, unit, largest, w, colour) for v, w in cells))
    return lines


def _panels(widths: list[int], room: int) -> list[slice]:
    """Consecutive columns that fit beside each other."""
    starts, used = [0], 0
    for index, width in enumerate(widths):
        if used + width > room and index > starts[-1]:
            starts.append(index)
            used = 0
        used += width
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(widths)], strict=True)]


def _rows(flat: "xr.DataArray") -> list[str]:
    """Labels of a map's rows."""
    if "row" in flat.dims:
        return [f"L{layer}H{head}" for layer, head in flat["row"].values]
    layers = flat["layer"].values.tolist()
    if flat.attrs["site"] == "mlp_out":
        return [f"L{layer}MLP" for layer in layers]
    return [*(f"layer {layer}" for layer in layers[:-1]), "final"]


def _cell(value: float, unit: float, largest: float, width: int, colour: bool) -> str:
    if value != value:
        return "?".rjust(width)
    whole = round(float(value) / unit)
    text = ("·" if whole == 0 else f"{whole:d}").rjust(width)
    if not colour or whole == 0:
        return text
    strength = abs(float(value)) / largest
    shade = "1;" if strength > 0.5 else "" if strength > 0.1 else "2;"
    return f"\x1b[{shade}{34 if value < 0 else 31}m{text}\x1b[0m"
