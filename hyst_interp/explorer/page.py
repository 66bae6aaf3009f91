"""The explorer: two histories head by head on one page with menus, that needs no kernel and no network.

    page = hi.figures.explorer_page(pair.exploration(12))      in a notebook it shows itself

Menus choose trial, layer, head, and history (from below, from above, their difference). The numbers of `exploration`
are put in as they are, in ten-thousandths; the page draws them and subtracts above from below, nothing else. The
same data give the same bytes.
"""

import json
from html import escape
from pathlib import Path

import numpy as np
import xarray as xr
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hyst_interp.errors import UserError
from hyst_interp.plots.theme import ABOVE, BELOW, DIFFERENCE, DIFFERENCES, EFFECTS, NAMES

HERE = Path(__file__).resolve().parent
STEPS = 10_000
"""Numbers of the page are whole multiples of 1/STEPS."""
NEEDED = ("pattern", "logits", "margin", "qk", "ov", "tokens", "contextual", "fixed", "rule")
HEIGHT = 900
"""Height in pixels of the frame that the page takes in a notebook."""


class ExplorerPage(str):
    """The page's text, which shows itself in a frame in Jupyter."""

    def __repr__(self) -> str:
        return f"ExplorerPage({len(self.encode()):,} bytes of HTML)"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="explorer" sandbox="allow-scripts" srcdoc="{escape(self)}"'
            f' style="width:100%;height:{HEIGHT}px;border:1px solid #d9dde2"></iframe>'
        )


def explorer_page(found: xr.Dataset) -> ExplorerPage:
    """One self-contained HTML page of `explorer.explorer_data.exploration`’s Dataset (as `Pair.exploration` gives it).

    Raises:
        UserError: a Dataset that lacks what the page shows, or holds numbers that are not finite.
    """
    missing = [name for name in NEEDED if name not in found]
    if missing:
        raise UserError(f"the data of an explorer lack '{missing[0]}'; make them with pair.exploration(trials).")
    text = json.dumps(_data(found), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    sides = {side: str(found.attrs.get(side, "")) for side in ("below", "above")}
    page = environment.get_template("explorer.html").render(
        data=text.replace("</", "<\\/"),
        sides=sides,
        names=NAMES,
        colours={"below": BELOW, "above": ABOVE, "difference": DIFFERENCE},
        trials=[_option(found, trial) for trial in range(found.sizes["trial"])],
        layers=[int(layer) for layer in found["layer"].values],
        heads=[int(head) for head in found["head"].values],
    )
    return ExplorerPage(page)


def _data(found: xr.Dataset) -> dict:
    """Everything that the page's script reads."""
    sides = found.sel(history=["below", "above"])
    return {
        "steps": STEPS,
        "names": [str(name) for name in found["token"].values],
        "firstValue": int(found.attrs["first_value"]),
        "rule": found["rule"].values.tolist(),
        "tokens": found["tokens"].values.tolist(),
        "contextual": found["contextual"].values.tolist(),
        "fixed": found["fixed"].values.tolist(),
        "margin": _steps(sides["margin"], "history", "trial"),
        "logits": _steps(sides["logits"], "history", "trial", "token"),
        "pattern": _steps(sides["pattern"], "history", "trial", "layer", "head", "query_pos", "key_pos"),
        "qk": _steps(sides["qk"], "history", "layer", "head", "query_token", "key_token"),
        "ov": _steps(sides["ov"], "history", "layer", "head", "source", "token"),
        "scales": {"effect": EFFECTS, "difference": DIFFERENCES},
    }


def _steps(array: xr.DataArray, *dims: str) -> list:
    """Values as whole multiples of 1/STEPS, nested in the order of `dims`."""
    values = array.transpose(*dims).values.astype(np.float64)
    if not np.isfinite(values).all():
        raise UserError(f"'{array.name}' holds numbers that are not finite; look at the checkpoint with 'info' first.")
    return np.rint(values * STEPS).astype(np.int64).tolist()


def _option(found: xr.Dataset, trial: int) -> str:
    """A trial in its menu: `1: k3→?  contextual v9, fixed v2`."""
    names = found["token"].values
    asked = found.isel(trial=trial)
    query, contextual, fixed = (str(names[int(asked[key])]) for key in ("query", "contextual", "fixed"))
    return f"{trial + 1}: {query}→?  contextual {contextual}, fixed {fixed}"
