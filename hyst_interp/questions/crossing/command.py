"""`cross`: move places of one history into the other: where its content suffices, where it is needed, how deep."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyst_interp.cli.arguments import (
    Above,
    Below,
    Figure,
    Format,
    NumberOfTrials,
    Seed,
    at_least,
    check_seed,
    choice,
    figure_file,
    two_checkpoints,
)
from hyst_interp.cli.output import Answer, check_format, finite, on_terminal
from hyst_interp.errors import UserError

if TYPE_CHECKING:
    import xarray as xr

SITES = ("resid_pre", "result", "mlp_out")
ENDS = ("estimate", "low", "high")
LARGEST = 8
"""Cells that the table shows with their intervals."""


def cross(
    below: Below,
    above: Above,
    site: Annotated[
        str,
        typer.Option(
            "--site",
            metavar="resid_pre|result|mlp_out",
            help="What is moved: residual stream, heads' outputs, or MLP outputs.",
        ),
    ] = "resid_pre",
    trials: NumberOfTrials = 2048,
    seed: Seed = None,
    figure: Figure = None,
    format: Format = "table",
) -> Answer:
    """Move what stands at places of one history into the other, on the same trials, in both directions.

    Sufficient: content from below put into the network from above. Necessary: put in place of it in the network from
    below. Beside the map stands the layer swap: how much of the gap is moved with everything up to a depth.

    \b
    Examples:
      hyst-interp cross checkpoints/seed-0/order-0/{below,above}
      hyst-interp cross A B --site result --figure cross.html
    """
    check_format(format)
    choice("--site", site, SITES)
    at_least("--trials", trials, 2)
    check_seed(seed)
    file = None if figure is None else figure_file(figure)
    manifests = two_checkpoints(below, above)
    if site == "mlp_out" and manifests[0].setup.model.d_mlp == 0:
        raise UserError("site 'mlp_out' does not exist in this model, which has no MLP; use resid_pre or result.")

    from hyst_interp.analysis.histories import Histories
    from hyst_interp.cli.rows import plain
    from hyst_interp.history.guard import one_thread
    from hyst_interp.questions.crossing import methods
    from hyst_interp.questions.crossing.controls import swap_ends
    from hyst_interp.questions.gap.headline import facts

    on_terminal(f"moving {site} between two networks on {trials:,} trials …")
    with one_thread():  # the same numbers on every call
        pair = Histories.open(below, above, trials, seed)
        cells, depths = methods.crossing(pair, site), methods.layer_swap(pair)
        data = facts("cross", pair, manifests)
    assert depths.found is not None
    data |= _map_data(cells, site)
    data["ladder"] = [plain(row) for row in depths]
    data["control"] = {
        "what": "logits at the ladder's ends − the networks' own",
        "largest": max(swap_ends(depths.found)),
        "unit": "logits",
    }
    if file is not None:
        _draw(cells, file)
        data["wrote"] = [str(file)]
    p0 = manifests[0].setup.p0
    return Answer(data, list(_rows(cells, data)), lambda colour: _table(data, cells, p0, colour), format)


def _draw(cells: "xr.Dataset", file: Path) -> None:
    from hyst_interp.plots.write import write_figure
    from hyst_interp.questions.crossing.figure import crossing_map

    write_figure(crossing_map(cells), file)


def _map_data(cells: "xr.Dataset", site: str) -> dict[str, Any]:
    """Every effect as nested lists of estimates and of their intervals' ends."""
    from hyst_interp.analysis.summary import cell

    dims = [str(dim) for dim in cells["estimate"].dims if dim != "effect"]
    first = cell(cells.isel(dict.fromkeys(cells["estimate"].dims, 0)))
    return {
        "site": site,
        "dims": dims,
        "coords": {dim: cells[dim].values.tolist() for dim in dims},
        "effects": {
            str(effect): {end: finite(cells[end].sel(effect=effect).values.tolist()) for end in ENDS}
            for effect in cells["effect"].values
        },
        "units": "logits",
        "method": first.method,
        "level": first.level,
        "n": first.n,
    }


def _rows(cells: "xr.Dataset", data: dict[str, Any]) -> "Iterator[dict[str, Any]]":
    """CSV: every cell, then every depth."""
    import numpy as np

    template = cells["estimate"]
    labels = {str(dim): template[dim].values.tolist() for dim in template.dims}
    for index in np.ndindex(*template.shape):
        cell = {dim: names[i] for (dim, names), i in zip(labels.items(), index, strict=True)}
        yield cell | {end: finite(float(cells[end].values[index])) for end in ENDS} | {"unit": "logits"}
    for depth in data["ladder"]:
        for name in ("moved", "added"):
            yield (
                {"effect": f"ladder {name}", "rung": depth["rung"]}
                | {end: depth[name][end] for end in ENDS}
                | {"unit": "logits"}
            )


def _table(data: dict[str, Any], cells: "xr.Dataset", p0: float, colour: bool) -> str:
    from hyst_interp.cli.maps import map_lines
    from hyst_interp.cli.rows import exactly, written
    from hyst_interp.cli.tables import Bars, estimate_text, layout, paragraph
    from hyst_interp.questions.crossing.measure import MAPS
    from hyst_interp.questions.gap.headline import headline

    lines = headline(data, p0)
    moved = cells["estimate"].assign_attrs(cells.attrs)
    for effect in MAPS:
        lines += [*map_lines(effect, moved.sel(effect=effect), "logits", colour), ""]
    lines += [_largest(cells, colour), ""]
    depths = data["ladder"]
    bars = Bars([row["moved"]["estimate"] for row in depths], width=13)
    body = [
        [row["rung"], estimate_text(row["moved"]), estimate_text(row["added"]), bars.draw(row["moved"]["estimate"])]
        for row in depths
    ]
    lines += [layout(["the donor's up to", "logits moved", "added at this depth", ""], body, "llll", colour), ""]
    foot = [
        "Logits moved of the gap: what moves it the way of its sign has its sign; · is under half a unit. sufficient:"
        " from below's content moved into from above; necessary: from below's replaced by from above's; asymmetry:"
        " necessary − sufficient, 0 if all after the place were linear and alike. A column moves a role's positions.",
        f"Control: nothing moved is the receiver, everything the donor; the largest difference of a logit is"
        f" {exactly(data['control']['largest'])}.",
    ]
    return "\n".join([*lines, *(paragraph(line, hang="  ") for line in foot), *written(data)])


def _largest(cells: "xr.Dataset", colour: bool) -> str:
    """The cells that move most, with intervals."""
    import numpy as np

    from hyst_interp.cli.tables import estimate_text, layout

    moved = cells.sel(effect="moved")["estimate"]
    order = np.argsort(-np.abs(moved.values).ravel(), kind="stable")
    body: list[list[str]] = []
    for flat in order:
        index = dict(zip(map(str, moved.dims), np.unravel_index(int(flat), moved.shape), strict=True))
        numbers = [
            estimate_text({end: float(cells[end].sel(effect=effect)[index].values) for end in ENDS})
            for effect in ("sufficient", "necessary")
        ]
        if numbers not in [row[1:] for row in body]:  # everywhere is often the query alone
            body.append([_place(cells, index), *numbers])
        if len(body) == LARGEST:
            break
    return layout(["what moves most", "sufficient", "necessary"], body, "lll", colour)


def _place(cells: "xr.Dataset", index: dict[str, Any]) -> str:
    """`L1H3 at the query`, `layer 1, other keys`."""
    role = str(cells["role"].values[index["role"]])
    layer = int(cells["layer"].values[index["layer"]])
    if "head" in index:
        return f"L{layer}H{int(cells['head'].values[index['head']])}, {role}"
    if cells.attrs["site"] == "mlp_out":
        return f"L{layer}MLP, {role}"
    return f"{'final' if index['layer'] == cells.sizes['layer'] - 1 else f'layer {layer}'}, {role}"
