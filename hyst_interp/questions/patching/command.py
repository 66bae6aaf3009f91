"""`patch`: where in the network the answer is carried: one map, or the maps of two histories and their difference."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyst_interp.cli.arguments import (
    Figure,
    Format,
    Seed,
    at_least,
    check_seed,
    checkpoint,
    choice,
    figure_file,
    refuse_impossible_twin,
    two_checkpoints,
)
from hyst_interp.cli.output import WIDTH, Answer, check_format, finite, on_terminal, schema
from hyst_interp.errors import UserError
from hyst_interp.sites import SITES

if TYPE_CHECKING:
    import xarray as xr

    from hyst_interp.storage.manifest import Manifest

TWINS = ("value", "rename", "query")


def patch(
    path: Annotated[
        str,
        typer.Argument(metavar="CKPT", help="Checkpoint (from below, where two are given); a branch is its hold-000."),
    ],
    site: Annotated[
        str,
        typer.Option(
            "--site",
            metavar="resid_pre|result|mlp_out|pattern",
            help="What is patched: residual stream, heads' outputs, MLP outputs, or attention patterns.",
        ),
    ],
    other: Annotated[
        str | None,
        typer.Argument(metavar="CKPT_B", help="Checkpoint from above, for both maps and their difference."),
    ] = None,
    twin: Annotated[
        str,
        typer.Option(
            "--twin",
            metavar="value|rename|query",
            help="What the corrupted prompt changes: the queried key's value (contextual answer), the queried key"
            " (fixed answer), or which key is queried (both; their logits are reported apart).",
        ),
    ] = "value",
    direction: Annotated[
        str,
        typer.Option("--direction", metavar="denoise|noise", help="Clean into corrupted, or corrupted into clean."),
    ] = "denoise",
    axis: Annotated[
        str, typer.Option("--axis", metavar="position|role", help="Columns: absolute positions, or roles of positions.")
    ] = "position",
    effect: Annotated[
        str,
        typer.Option(
            "--effect",
            metavar="raw|normalised",
            help="Logits of margin, or shares of the mean difference between the two runs (1 = all of it).",
        ),
    ] = "raw",
    trials: Annotated[int, typer.Option("--trials", metavar="N", help="Conflict trials to average over.")] = 512,
    seed: Seed = None,
    figure: Figure = None,
    format: Format = "table",
) -> Answer:
    """Patch activations between clean and corrupted runs, cell by cell, and show what each cell carries.

    With two checkpoints the difference is the map from below minus the map from above, as for the gap.

    \b
    Examples:
      hyst-interp patch checkpoints/seed-0/order-0/below --site resid_pre
      hyst-interp patch A B --site result --axis role --figure heads.html
    """
    check_format(format)
    choice("--site", site, SITES)
    choice("--twin", twin, TWINS)
    choice("--direction", direction, ("denoise", "noise"))
    choice("--axis", axis, ("position", "role"))
    choice("--effect", effect, ("raw", "normalised"))
    at_least("--trials", trials, 2)
    check_seed(seed)
    file = None if figure is None else figure_file(figure)
    manifest = checkpoint(path)[1] if other is None else two_checkpoints(path, other)[0]
    _refuse_impossible(site, twin, manifest)
    names = [path] if other is None else [path, other]

    from hyst_interp.analysis.histories import Histories
    from hyst_interp.history.guard import one_thread
    from hyst_interp.questions.patching import methods
    from hyst_interp.questions.patching.measure import checkpoint_map
    from hyst_interp.storage.checkpoint import load

    options = {"twin": twin, "direction": direction, "axis": axis, "trials": trials, "effect": effect}
    on_terminal(f"patching {site} on {trials:,} trials …")
    with one_thread():  # the same numbers on every call
        if other is None:
            effects = checkpoint_map(load(path), site, seed=seed, **options)  # type: ignore[arg-type]
        else:
            effects = methods.patching(Histories.open(path, other, seed=seed), site, **options)  # type: ignore[arg-type]
    data = _data(effects)
    if file is not None:
        from hyst_interp.plots.heatmap import heatmap
        from hyst_interp.plots.write import write_figure

        write_figure(heatmap(effects), file)
        data["wrote"] = [str(file)]
    return Answer(data, list(_cells(effects)), lambda colour: _table(effects, names, data, colour), format)


def _refuse_impossible(site: str, twin: str, manifest: "Manifest") -> None:
    if site == "mlp_out" and manifest.setup.model.d_mlp == 0:
        raise UserError(
            "site 'mlp_out' does not exist in this model, which has no MLP; use resid_pre, result or pattern."
        )
    refuse_impossible_twin(twin, manifest)


def _data(found: "xr.DataArray") -> dict[str, Any]:
    maps = [finite(found.isel(history=i).values.tolist()) for i in range(found.sizes["history"])]
    maps += [None] * (3 - len(maps))
    dims = [str(dim) for dim in found.dims if dim != "history"]
    data: dict[str, Any] = {"schema": schema("patch")}
    data |= {name: found.attrs[name] for name in ("site", "twin", "direction", "effect", "axis", "units", "trials")}
    data |= {
        "dims": dims,
        "coords": {dim: found[dim].values.tolist() for dim in dims},
        "whole": finite(list(found.attrs["whole"])),
        "a": maps[0],
        "b": maps[1],
        "difference": maps[2],
    }
    if found.attrs["reason"]:
        data["reason"] = found.attrs["reason"]
    elif maps[1] is None:
        data["reason"] = "one checkpoint was given: there is no second map and no difference"
    return data


def _cells(found: "xr.DataArray") -> "Iterator[dict[str, Any]]":
    """Every cell as a CSV row."""
    import numpy as np

    labels = {str(dim): found[dim].values.tolist() for dim in found.dims}
    for index in np.ndindex(*found.shape):
        cell = {dim: names[i] for (dim, names), i in zip(labels.items(), index, strict=True)}
        yield {**cell, "effect": finite(float(found.values[index])), "units": found.attrs["units"]}


def _panels(found: "xr.DataArray") -> "list[tuple[str, xr.DataArray]]":
    """One map a history, and a logit where answers are reported apart."""
    panels = []
    for history in found["history"].values:
        panel = found.sel(history=history)
        if "answer" in found.dims:
            panels += [(f"{history}, {answer} logit", panel.sel(answer=answer)) for answer in found["answer"].values]
        else:
            panels.append((str(history), panel))
    return panels


def _table(found: "xr.DataArray", names: list[str], data: dict[str, Any], colour: bool) -> str:
    from hyst_interp.cli.maps import map_lines
    from hyst_interp.cli.tables import number, paragraph

    attrs = found.attrs
    verb = "clean into corrupted" if attrs["direction"] == "denoise" else "corrupted into clean"
    wholes = ", ".join(
        f"{history} {number(whole, 2)}" for history, whole in zip(found["history"].values, attrs["whole"], strict=False)
    )
    quantity = "each answer's logit" if "answer" in found.dims else "the margin"
    lines = [
        f"{attrs['site']}: {attrs['effect']} effect on {quantity}, {attrs['twin']} twin, {attrs['direction']} ({verb})",
        f"mean over {attrs['trials']:,} conflict trials; whole difference in margin: {wholes} logits",
    ]
    if len(names) == 2:
        lines.append("difference = below − above")
    for title, panel in _panels(found):
        lines += ["", *map_lines(title, panel, attrs["units"], colour)]
    foot = "· is less than half a unit. "
    if attrs["axis"] == "role":
        foot += "A role cell patches every position of the role from the changed token on."
    elif attrs["site"] == "pattern":
        foot += "Columns are the query positions of the patched attention."
    if attrs["site"] == "resid_pre":
        foot += " Rows are the residual stream before every layer, and the final one."
    lines += ["", paragraph(foot.strip())]
    if attrs["reason"]:
        lines.append(paragraph(f"undefined (?): {attrs['reason']}."))
    if "wrote" in data:
        lines.append(f"wrote {data['wrote'][0]}")
    return "\n".join(paragraph(line, hang="  ") if len(line) > WIDTH and not colour else line for line in lines)
