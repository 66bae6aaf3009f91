"""`weights`: move groups of weights from one history into the other, and see how much of the gap moves with them."""

from typing import Any

from hyst_interp.cli.arguments import (
    Above,
    Below,
    Figure,
    Format,
    NumberOfTrials,
    Seed,
    at_least,
    check_seed,
    figure_file,
    two_checkpoints,
)
from hyst_interp.cli.output import Answer, check_format, on_terminal

LEVELS = {"family": "kinds of weights", "group": "every group"}


def weights(
    below: Below,
    above: Above,
    trials: NumberOfTrials = 2048,
    seed: Seed = None,
    figure: Figure = None,
    format: Format = "table",
) -> Answer:
    """Move groups of weights between two histories, and see how much of the gap moves with them.

    A group goes alone, or all others go without it; each in both directions, and the mean of the two is shown. Every
    parameter is in one group: heads' QK and OV, MLPs' in and out, embeddings, LayerNorms. No optimizer is needed.

    \b
    Examples:
      hyst-interp weights checkpoints/seed-0/order-0/{below,above}
      hyst-interp weights A B --figure weights.html
    """
    check_format(format)
    at_least("--trials", trials, 2)
    check_seed(seed)
    file = None if figure is None else figure_file(figure)
    manifests = two_checkpoints(below, above)

    from hyst_interp.analysis.histories import Histories
    from hyst_interp.cli.rows import draw, plain
    from hyst_interp.history.guard import one_thread
    from hyst_interp.questions.gap.headline import facts
    from hyst_interp.questions.weights import methods
    from hyst_interp.questions.weights.controls import all_weights_moved

    on_terminal(f"moving every group of weights on {trials:,} trials …")
    with one_thread():  # the same numbers on every call
        pair = Histories.open(below, above, trials, seed)
        rows = methods.weights(pair)
        data = facts("weights", pair, manifests)
    assert rows.found is not None
    data["control"] = {
        "what": "all groups moved − the other history itself",
        "largest": all_weights_moved(rows.found),
        "unit": "logits",
    }
    data["rows"] = [plain(row) for row in rows]
    draw(rows, file, data)
    p0 = manifests[0].setup.p0
    return Answer(data, data["rows"], lambda colour: _table(data, p0, colour), format)


def _table(data: dict[str, Any], p0: float, colour: bool) -> str:
    from hyst_interp.cli.rows import exactly, written
    from hyst_interp.cli.tables import Bars, estimate_text, layout, paragraph
    from hyst_interp.questions.gap.headline import headline

    rows = data["rows"]
    limit = 2 * abs(data["gap"]["estimate"]) or None
    bars = Bars([row["logits_moved"]["estimate"] for row in rows], width=11, limit=limit)
    body: list[Any] = []
    for level, heading in LEVELS.items():
        body.append(heading)
        for row in (row for row in rows if row["level"] == level):
            rest = estimate_text(row["all_but_moved"]) if "all_but_moved" in row else ""
            moved = row["logits_moved"]
            body.append([row["group"], estimate_text(moved), bars.draw(moved["estimate"]), rest])
    head = ["weights", "logits moved alone", "", "by all others together"]
    table = layout(head, body, "llll", colour)
    foot = [
        "Moved = what goes of the gap, the mean of both directions; all groups together move all of it. Where the sum"
        " of single groups is not the gap, they interact.",
        f"Control: with all groups moved, the largest difference of a margin from the other history's own is"
        f" {exactly(data['control']['largest'])}.",
    ]
    return "\n".join([*headline(data, p0), table, "", *(paragraph(line, hang="  ") for line in foot), *written(data)])
