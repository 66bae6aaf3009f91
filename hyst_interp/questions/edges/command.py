"""`edges`: every edge between nodes patched exactly: what carries the answer, what the gap, and in which circuits."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyst_interp.cli.arguments import (
    Above,
    Below,
    Figure,
    Format,
    Seed,
    at_least,
    check_seed,
    choice,
    figure_file,
    refuse_impossible_twin,
    two_checkpoints,
)
from hyst_interp.cli.output import Answer, check_format, on_terminal
from hyst_interp.errors import UserError

if TYPE_CHECKING:
    from hyst_interp.analysis.histories import Histories

TWINS = ("value", "rename")
TOP = 12
"""Edges of a table at most; JSON and CSV have all."""


def edges(
    below: Below,
    above: Above,
    twin: Annotated[
        str,
        typer.Option(
            "--twin",
            metavar="value|rename",
            help="What the corrupted prompt changes: the queried key's value (contextual answer), or the queried key"
            " (fixed answer).",
        ),
    ] = "value",
    faithfulness: Annotated[
        float,
        typer.Option(
            "--faithfulness", metavar="SHARE", help="Share of the answer that a circuit has to keep, at most 1."
        ),
    ] = 0.9,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps", metavar="N", help="Also score edges by gradients (EAP-IG) with N steps, against exact effects."
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="Conflict trials, the same for all edges.")
    ] = 256,
    seed: Seed = None,
    figure: Figure = None,
    format: Format = "table",
) -> Answer:
    """Patch every edge between nodes in two histories, and find the circuits that carry the answer, and the gap.

    An edge is what one node writes as one input of another (a head's query, key, value; an MLP; the logits) reads it.
    Everything after it is computed again. A circuit keeps its share with all other edges corrupted; edges are ranked
    on every other trial, and the circuit is judged on the rest.

    \b
    Examples:
      hyst-interp edges checkpoints/seed-0/order-0/{below,above}
      hyst-interp edges A B --twin rename --faithfulness 0.8 --figure r.html
    """
    check_format(format)
    choice("--twin", twin, TWINS)
    at_least("--trials", trials, 4)
    check_seed(seed)
    if not 0 < faithfulness <= 1:
        raise UserError(f"--faithfulness is {faithfulness:g}; use a share above 0 and at most 1.")
    if steps is not None:
        at_least("--steps", steps, 1, 1000)
    file = None if figure is None else figure_file(figure)
    manifests = two_checkpoints(below, above)
    refuse_impossible_twin(twin, manifests[0])

    from hyst_interp.analysis.histories import Histories
    from hyst_interp.cli.rows import draw
    from hyst_interp.history.guard import one_thread
    from hyst_interp.questions.edges import methods
    from hyst_interp.questions.gap.headline import facts

    on_terminal(f"patching every edge of two networks on {trials:,} trials …")
    with one_thread():  # the same numbers on every call
        pair = Histories.open(below, above, trials, seed)
        circuits = methods.circuit(pair, twin, faithfulness, trials)
        data = facts("edges", pair, manifests) | {"twin": twin, "faithfulness": faithfulness}
        data |= _measure(pair, circuits, twin, steps, trials)
    draw(circuits, file, data)
    p0 = manifests[0].setup.p0
    rows = [{"kind": name, **row} for name in ("edges", "gap_edges") for row in data[name]]
    return Answer(data, rows, lambda colour: _table(data, p0, colour), format)


def _measure(pair: "Histories", circuits, twin: str, steps: int | None, trials: int) -> dict[str, Any]:
    from hyst_interp.cli.rows import plain
    from hyst_interp.questions.edges import methods

    members = {row["history"]: set(row["edges"]) for row in circuits}
    table = [
        plain(row) | {"in_circuit": [branch for branch, inside in members.items() if row["edge"] in inside]}
        for row in methods.edges(pair, twin, trials)
    ]
    kept = ("history", "size", "faithfulness", "lasting", "floor", "edges")
    data: dict[str, Any] = {
        "circuits": [plain({name: row[name] for name in kept}) for row in circuits],
        "jaccard": circuits.found.attrs["jaccard"],
        "edges": table,
        "gap_edges": [plain(row) for row in methods.gap_edges(pair, trials)],
    }
    if steps is not None:
        data["attribution"] = [plain(row) for row in methods.edge_attribution(pair, twin, steps, trials)]
    return data


def _table(data: dict[str, Any], p0: float, colour: bool) -> str:
    from hyst_interp.cli.rows import written
    from hyst_interp.cli.tables import estimate_text, layout, number, paragraph
    from hyst_interp.questions.gap.headline import headline

    edges = [
        [
            row["edge"],
            estimate_text(row["below"], 2),
            estimate_text(row["above"], 2),
            estimate_text(row["difference"]),
        ]
        for row in data["edges"][:TOP]
    ]
    gaps = [
        [
            row["edge"],
            estimate_text(row["moved"]),
            estimate_text(row["share"], 2),
            *(number(row[side]["estimate"]) for side in ("into_below", "into_above")),
        ]
        for row in data["gap_edges"][:TOP]
    ]
    total = len(data["edges"])
    answer = f"{data['twin']} twin"
    lines = [
        *headline(data, p0),
        f"The answer ({answer}): effect on the margin in logits, corrupted into clean",
        layout(["edge", "from below", "from above", "below − above"], edges, "llll", colour),
        "",
        "The gap: the other history's message, mean of both directions",
        layout(["edge", "logits moved", "share of the gap", "into\nbelow", "into\nabove"], gaps, "lllrr", colour),
        "",
        *(paragraph(_circuit(row, data["faithfulness"], total), hang="  ") for row in data["circuits"]),
        paragraph(f"Edges in both circuits, of those in either: {data['jaccard']:.2f}."),
        *(paragraph(_agreement(row), hang="  ") for row in data.get("attribution", ())),
        "",
        paragraph(
            f"The {min(TOP, total)} largest of {total} edges stand in each table, their intervals uncorrected; JSON has"
            " all. Effects of single edges need not add up.",
            hang="  ",
        ),
        *written(data),
    ]
    return "\n".join(lines)


def _circuit(row: dict[str, Any], wanted: float, total: int) -> str:
    from hyst_interp.cli.tables import estimate_text

    share = row["faithfulness"]
    kept = estimate_text(share, undefined="an undefined share").replace("+", "")
    reason = f" ({share['reason']})" if share["estimate"] is None else ""
    floor = ", ".join(f"{random_share:.2f}" for random_share in row["floor"])
    lasting = "" if row["lasting"] == row["size"] else f", and every larger one from {row['lasting']} on keeps it"
    return (
        f"circuit from {row['history']}: {row['size']} of {total} edges keep {kept}{reason} of the answer ({wanted:g}"
        f" was asked for{lasting}); random circuits of that size keep {floor}."
    )


def _agreement(row: dict[str, Any]) -> str:
    known = {name: row[name] for name in ("pearson", "spearman", "slope", "error") if row[name] is not None}
    words = {"pearson": "Pearson r", "spearman": "Spearman r", "slope": "slope", "error": "relative distance"}
    numbers = ", ".join(f"{words[name]} {value:.3f}" for name, value in known.items())
    return (
        f"EAP-IG, {row['steps']} steps, from {row['history']}, against exact effects: {numbers}; out of the embedding"
        f" {row['incompleteness']:.1%} of the sum is missing."
    )
