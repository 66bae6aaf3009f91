"""`attenuate`: replace components in both histories, and see how much of their gap goes."""

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
    anchor,
    at_least,
    check_seed,
    choice,
    component_sets,
    figure_file,
    references,
    two_checkpoints,
)
from hyst_interp.cli.output import Answer, check_format, note, on_terminal, schema
from hyst_interp.errors import UserError
from hyst_interp.questions.shapley.command import refuse_meaningless, shapley_answer

if TYPE_CHECKING:
    from hyst_interp.storage.manifest import Manifest

DEFAULT_REFERENCES = ("own-mean", "pooled-mean", "donor")
EXPLAINED = {
    "own-mean": "each network's own mean over 4,096 inputs, as in the paper",
    "pooled-mean": "the average of both networks' means",
    "donor": "what the other history writes on the same trial",
    "anchor-mean": "the mean of the anchor that both histories started from",
}
LOW_MASS = 0.9


def attenuate(
    below: Below,
    above: Above,
    components: Annotated[
        str,
        typer.Option(
            "--components",
            metavar="SET[,SET…]",
            help="What is replaced: each (component by itself), heads, mlps, all, or components joined by + as in"
            " L0H1+L1MLP; a comma makes rows. With --shapley: the players, every component of the sets by itself.",
        ),
    ] = "each,heads,mlps,all",
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="R[,R…]",
            help="By what: own-mean, pooled-mean, donor, anchor-mean. By default the first three, and anchor-mean where"
            " the anchor is at hand; with --shapley donor and own-mean.",
        ),
    ] = None,
    shapley: Annotated[
        bool,
        typer.Option(
            "--shapley",
            help="Play out every coalition of components, and give each its Shapley value; with first and last effects,"
            " and interactions of pairs.",
        ),
    ] = False,
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
            help="The common ancestor, for anchor-mean; by default the run's own, where its hash is the recorded one.",
        ),
    ] = None,
    figure: Figure = None,
    format: Format = "table",
) -> Answer:
    """Replace components in two histories, and see how much of the gap between them goes.

    The gap is the mean margin of the network from below minus that of the one from above, on the same conflict trials.
    Intervals over trials speak of these two networks only.

    \b
    Examples:
      hyst-interp attenuate checkpoints/seed-0/order-0/{below,above}
      hyst-interp attenuate A B --components heads,L1H3+L1MLP --reference donor
      hyst-interp attenuate A B --shapley --figure shapley.html
      hyst-interp attenuate A B --format json
    """
    check_format(format)
    at_least("--trials", trials, 2)
    check_seed(seed)
    choice("--positions", positions, ("query", "all"))
    asked = None if reference is None else references(reference)
    if figure is not None and not shapley:
        raise UserError(f"--figure '{figure}' draws Shapley values alone; add --shapley, or leave it out.")
    file = None if figure is None else figure_file(figure)
    manifests = two_checkpoints(below, above)
    component_sets(components, manifests[0])
    if shapley:
        games = refuse_meaningless(manifests[0], components, asked, positions, anchor_path)
        return shapley_answer(below, above, manifests, components, games, trials, seed, file, format)
    ancestor = anchor(anchor_path, below, manifests[0])
    if asked is None:
        asked = (*DEFAULT_REFERENCES, "anchor-mean") if ancestor is not None else DEFAULT_REFERENCES
    if "anchor-mean" in asked and ancestor is None:
        raise UserError("reference 'anchor-mean' needs the anchor; pass --anchor with its checkpoint.")
    if "anchor-mean" not in asked:
        if anchor_path is not None:
            note("--anchor is not used: anchor-mean is not among the references.")
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
    from hyst_interp.facade import pair
    from hyst_interp.history.guard import one_thread
    from hyst_interp.storage.manifest import describe

    found = pair(below, above, trials, seed, ancestor)
    on_terminal(f"replacing {components} by {', '.join(asked)} on {trials:,} trials …")
    with one_thread():  # the same numbers on every call, and no contention with other processes
        gap = found.gap().to_dict() | {"trials": trials}
        margins = {branch: one.to_dict() for branch, one in found.mean_margins().items()}
        rows = [row_entry(row) for row in found.attenuation(components, asked, positions)]
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
        body.append(f"{reference}: {EXPLAINED[reference]}")
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


def headline(data: dict[str, Any], p0: float) -> list[str]:
    """The gap, what it is a gap between, and what its interval speaks of."""
    import math

    from hyst_interp.cli.tables import estimate_text, number, paragraph

    gap, margins = data["gap"], data["margins"]
    sides = {branch: number(margins[branch]["estimate"]) for branch in ("below", "above")}
    if gap["low"] is not None and gap["low"] > 0:
        reading = "the network from below answers more from the prompt"
    elif gap["high"] is not None and gap["high"] < 0:
        reading = "the network from above answers more from the prompt"
    else:
        reading = "its interval contains 0"
    return [
        f"gap      {estimate_text(gap, 4)} logits: {reading}"
        if len(reading) < 30
        else f"gap      {estimate_text(gap, 4)} logits\n         {reading}",
        f"margins  from below {sides['below']}, from above {sides['above']};"
        f" best at p0 = {p0:g}: {number(math.log(p0 / (1 - p0)))}",
        paragraph(f"below    {data['below']}", hang=" " * 9),
        paragraph(f"above    {data['above']}", hang=" " * 9),
        paragraph(
            f"Intervals: {gap['level']:.0%} over {gap['trials']:,} conflict trials of these two networks only;"
            " other seeds can differ by far more."
        ),
        "",
    ]


def _short(name: str) -> str:
    return name if len(name) <= 10 else f"{name[:9]}…"


def _footer(rows: list[dict[str, Any]], positions: str, paragraph) -> list[str]:
    where = "at the query" if positions == "query" else "at every position"
    lines = [
        f"Outputs are replaced {where}. Logits moved = gap − gap after; its share of the gap is not clipped:"
        " it can exceed 1 or be negative."
    ]
    if any(row["reference"] == "donor" for row in rows):
        lines.append("donor: the mean of two directions, from above into below and from below into above.")
    lines.append(
        "mass, margin: P(contextual) + P(fixed) and the mean margin after it; a low mass"
        + (f" (! below {LOW_MASS})" if any(row["answer_mass"]["estimate"] < LOW_MASS for row in rows) else "")
        + " means that the network is far from where it was trained."
    )
    lines.extend(f"undefined: {reason}." for reason in dict.fromkeys(r["reason"] for r in rows if r["reason"]))
    return [paragraph(line, hang="  ") for line in lines]
