"""`attenuate`: replace components in both histories, and see how much of their gap goes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyst_interp.analysis.answer_mass import LOW_MASS
from hyst_interp.cli.arguments import (
    Above,
    Below,
    Format,
    NumberOfTrials,
    Seed,
    anchor,
    at_least,
    check_seed,
    choice,
    component_sets,
    references,
    two_checkpoints,
)
from hyst_interp.cli.output import Answer, check_format, note, on_terminal, schema
from hyst_interp.errors import UserError
from hyst_interp.questions.gap.headline import headline
from hyst_interp.references import ANCHOR_MEAN, exchanges, reference_names
from hyst_interp.references import reference as known_reference

if TYPE_CHECKING:
    from hyst_interp.storage.manifest import Manifest


def attenuate(
    below: Below,
    above: Above,
    components: Annotated[
        str,
        typer.Option(
            "--components",
            metavar="SET[,SET…]",
            help="What is replaced: each (component by itself), heads, mlps, all, or components joined by + as in"
            " L0H1+L1MLP; a comma makes rows.",
        ),
    ] = "each,heads,mlps,all",
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="R[,R…]",
            help=f"By what: {', '.join(reference_names())}. By default all that need no anchor, and"
            f" {ANCHOR_MEAN.name} where the anchor is at hand.",
        ),
    ] = None,
    positions: Annotated[
        str, typer.Option("--positions", metavar="query|all", help="Where: at the query, or at every position.")
    ] = "query",
    trials: NumberOfTrials = 2048,
    seed: Seed = None,
    anchor_path: Annotated[
        str | None,
        typer.Option(
            "--anchor",
            metavar="CKPT",
            help=f"The common ancestor, for {ANCHOR_MEAN.name}; by default the run's own, where its hash is the"
            " recorded one.",
        ),
    ] = None,
    format: Format = "table",
) -> Answer:
    """Replace components in two histories, and see how much of the gap between them goes.

    The gap is the mean margin of the network from below minus that of the one from above, on the same conflict trials.
    Intervals over trials speak of these two networks only.

    \b
    Examples:
      hyst-interp attenuate checkpoints/seed-0/order-0/{below,above}
      hyst-interp attenuate A B --components heads,L1H3+L1MLP --reference donor
      hyst-interp attenuate A B --format json
    """
    check_format(format)
    at_least("--trials", trials, 2)
    check_seed(seed)
    choice("--positions", positions, ("query", "all"))
    asked = None if reference is None else references(reference)
    manifests = two_checkpoints(below, above)
    component_sets(components, manifests[0])
    ancestor = anchor(anchor_path, below, manifests[0])
    if asked is None:
        free = reference_names(anchor=False)  # last come those that need the anchor
        asked = free if ancestor is None else tuple(dict.fromkeys((*free, *reference_names())))
    needing = [name for name in asked if known_reference(name).needs_anchor]
    if needing and ancestor is None:
        raise UserError(f"reference '{needing[0]}' needs the anchor; pass --anchor with its checkpoint.")
    if not needing:
        if anchor_path is not None:
            note(f"--anchor is not used: {ANCHOR_MEAN.name} is not among the references.")
        ancestor = None
    return _measure(below, above, manifests, components, asked, positions, trials, seed, ancestor, format)


def _measure(
    below: str,
    above: str,
    manifests: "tuple[Manifest, Manifest]",
    components: str,
    asked: tuple[str, ...],
    positions: str,
    trials: int,
    seed: int | None,
    ancestor: Path | None,
    format: str,
) -> Answer:
    from hyst_interp.analysis.histories import Histories
    from hyst_interp.history.guard import one_thread
    from hyst_interp.questions.attenuation import methods
    from hyst_interp.questions.gap import methods as gap_methods
    from hyst_interp.storage.manifest import describe

    pair = Histories.open(below, above, trials, seed, ancestor)
    on_terminal(f"replacing {components} by {', '.join(asked)} on {trials:,} trials …")
    with one_thread():  # the same numbers on every call, and no contention with other processes
        gap = gap_methods.gap(pair).to_dict() | {"trials": trials}
        margins = {branch: margin.to_dict() for branch, margin in gap_methods.mean_margins(pair).items()}
        rows = [row_entry(row) for row in methods.attenuation(pair, components, asked, positions)]
    data: dict[str, Any] = {
        "schema": schema("attenuate"),
        "below": describe(manifests[0]),
        "above": describe(manifests[1]),
        "positions": positions,
        "gap": gap,
        "margins": margins,
        "rows": rows,
    }
    flat = [{**row, "gap": gap} for row in rows]
    p0 = manifests[0].setup.p0
    return Answer(data, flat, lambda colour: _table(data, p0, colour), format)


def row_entry(row: dict[str, Any]) -> dict[str, Any]:
    """A row of estimates as a JSON object."""
    entry: dict[str, Any] = {
        name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in row.items()
    }
    share = entry["attenuation"]
    return entry | {"defined": share["estimate"] is not None, "reason": share.get("reason")}


def _table(data: dict[str, Any], p0: float, colour: bool) -> str:
    from hyst_interp.cli.tables import Bars, estimate_text, layout, number, paragraph

    gap, rows = data["gap"], data["rows"]
    bars = Bars(
        [row["logits_moved"]["estimate"] for row in rows],
        width=9,
        limit=2 * abs(gap["estimate"]) if all(row["defined"] for row in rows) else None,
    )
    body: list[Any] = []
    for reference in dict.fromkeys(row["reference"] for row in rows):
        body.append(f"{reference}: {known_reference(reference).sentence}")
        for row in (row for row in rows if row["reference"] == reference):
            mass = row["answer_mass"]["estimate"]
            after = (row["margin_after_below"]["estimate"] + row["margin_after_above"]["estimate"]) / 2
            body.append(
                [
                    _short(row["components"]),
                    estimate_text(row["logits_moved"]),
                    bars.draw(row["logits_moved"]["estimate"]),
                    estimate_text(row["attenuation"], decimals=2),
                    f"{mass:.2f}{'!' if mass < LOW_MASS else ' '}",
                    number(after, 2),
                ]
            )
    head = ["replaced", "logits moved", "", "share of the gap", "mass", "margin"]
    table = layout(head, body, align="llllrr", colour=colour)
    return "\n".join([*headline(data, p0), table, "", *_footer(rows, data["positions"], paragraph)])


def _short(name: str) -> str:
    return name if len(name) <= 10 else f"{name[:9]}…"


def _footer(rows: list[dict[str, Any]], positions: str, paragraph) -> list[str]:
    where = "at the query" if positions == "query" else "at every position"
    lines = [
        f"Outputs are replaced {where}. Logits moved = gap − gap after; its share of the gap is not clipped:"
        " it can exceed 1 or be negative."
    ]
    averaged = [name for name in exchanges() if any(row["reference"] == name for row in rows)]
    if averaged:
        lines.append(
            f"{', '.join(averaged)}: the mean of two directions, from above into below and from below into above."
        )
    lines.append(
        "mass, margin: P(contextual) + P(fixed) and the mean margin after it; a low mass"
        + (f" (! below {LOW_MASS})" if any(row["answer_mass"]["estimate"] < LOW_MASS for row in rows) else "")
        + " means that the network is far from where it was trained."
    )
    lines.extend(f"undefined: {reason}." for reason in dict.fromkeys(r["reason"] for r in rows if r["reason"]))
    return [paragraph(line, hang="  ") for line in lines]
