"""`information`: is what a component carries of the gap its mean, or what depends on the prompt, and who can tell?"""

from typing import Annotated, Any

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
    component_sets,
    figure_file,
    two_checkpoints,
)
from hyst_interp.cli.output import Answer, check_format, on_terminal
from hyst_interp.verdicts import Verdict

EXPLAINED = {
    "parts moved": "the other's mean, or its input-dependent part, is put in",
    "own and pooled": "pooled mean − own mean; own mean",
    "own and anchor": "anchor's mean − own mean; own mean",
    "own and other": "half of (other's mean − own mean); own mean",
}
"""How an estimator gets the mean part, and the input-dependent part."""


def information(
    below: Below,
    above: Above,
    components: Annotated[
        str,
        typer.Option(
            "--components",
            metavar="SET[,SET…]",
            help="What is split: each (component by itself), heads, mlps, all, or components joined by + as in"
            " L0H1+L1MLP; a comma makes rows.",
        ),
    ] = "each,heads,mlps,all",
    trials: NumberOfTrials = 2048,
    seed: Seed = None,
    figure: Figure = None,
    format: Format = "table",
) -> Answer:
    """Split what components carry of the gap into their mean and what depends on the prompt.

    Four estimators do so, and would agree in a linear network. Each is judged for each set: it is trusted where the
    replacements that it uses leave the networks near where they were, and where its two parts add up. The anchor is
    used where the run's own is at hand and its hash is the recorded one.

    \b
    Examples:
      hyst-interp information checkpoints/seed-0/order-0/{below,above}
      hyst-interp information A B --components heads,L1MLP --format json
    """
    check_format(format)
    at_least("--trials", trials, 2)
    check_seed(seed)
    file = None if figure is None else figure_file(figure)
    manifests = two_checkpoints(below, above)
    component_sets(components, manifests[0])
    ancestor = anchor(None, below, manifests[0])

    from hyst_interp.analysis.histories import Histories
    from hyst_interp.cli.rows import draw, plain
    from hyst_interp.history.guard import one_thread
    from hyst_interp.questions.gap.headline import facts
    from hyst_interp.questions.information import methods
    from hyst_interp.questions.information.summary import DIVERGENCE, MASS_KEPT, TOLERANCE

    on_terminal(f"replacing {components} part by part on {trials:,} trials …")
    with one_thread():  # the same numbers on every call
        pair = Histories.open(below, above, trials, seed, ancestor)
        rows = methods.information(pair, components)
        data = facts("information", pair, manifests)
    data["rule"] = {"mass_kept": MASS_KEPT, "divergence": DIVERGENCE, "tolerance": TOLERANCE}
    data["rows"] = [plain(row) | {"reason": row["reason"] or None} for row in rows]
    data["distances"] = [plain(row) for row in rows.beside["distances"]]
    draw(rows, file, data)
    p0 = manifests[0].setup.p0
    return Answer(data, data["rows"], lambda colour: _table(data, p0, colour), format)


def _table(data: dict[str, Any], p0: float, colour: bool) -> str:
    from hyst_interp.cli.rows import written
    from hyst_interp.cli.tables import estimate_text, layout, paragraph
    from hyst_interp.questions.gap.headline import headline

    rows = data["rows"]
    longest = max(len(row["components"]) for row in rows)
    decimals = 3 if longest <= 5 else 2
    body: list[Any] = []
    for name in dict.fromkeys(row["estimator"] for row in rows):
        body.append(f"{name}: {EXPLAINED[name]}")
        for row in (row for row in rows if row["estimator"] == name):
            parts = [estimate_text(row[part], decimals) for part in ("mean", "information", "remainder")]
            body.append([_short(row["components"]), *parts, "✓" if row["verdict"] == Verdict.TRUSTED else "–"])
    table = layout(["", "mean", "information", "remainder", ""], body, "lllll", colour)
    return "\n".join([*headline(data, p0), table, "", *_verdicts(data, paragraph), *written(data)])


def _short(name: str) -> str:
    return name if len(name) <= 11 else f"{name[:10]}…"


def _verdicts(data: dict[str, Any], paragraph) -> list[str]:
    """Who can be trusted here, and for what reason the others cannot; a reason that several share stands once."""
    rows, rule = data["rows"], data["rule"]
    lines = ["Which estimator can be trusted here (✓)"]
    for name in dict.fromkeys(row["estimator"] for row in rows):
        mine = [row for row in rows if row["estimator"] == name]
        trusted = [row["components"] for row in mine if row["verdict"] == Verdict.TRUSTED]
        which = (
            "for all sets" if len(trusted) == len(mine) else f"for {', '.join(trusted)}" if trusted else "for no set"
        )
        lines.append(paragraph(f"{name}: {which}", "  ", "    "))
    shared: dict[tuple[str, str], list[str]] = {}
    one_for_all = len({row["reason"] for row in rows}) == 1
    for row in rows:
        if row["verdict"] != Verdict.TRUSTED:
            shared.setdefault(("" if one_for_all else row["components"], row["reason"]), []).append(row["estimator"])
    if shared:
        lines += ["", "Why not"]
    for (components, reason), estimators in sorted(shared.items(), key=lambda item: _place(rows, item[0][0])):
        what = f"{components}, {', '.join(dict.fromkeys(estimators))}: " if components else ""
        lines.append(paragraph(f"{what}{reason}.", "  ", "    "))
    lines.append("")
    foot = [
        "In logits of the gap. The remainder is what the whole moves − mean − information: 0 in a linear network.",
        f"Trusted: {rule['mass_kept']:.0%} of the answer mass kept, at most {rule['divergence']:g} nats from where each"
        f" network was, and parts that add up to within {rule['tolerance']:.0%} of the gap, each for its whole"
        " interval. A part smaller than that may still be wrong by as much as it is.",
    ]
    return lines + [paragraph(line, hang="  ") for line in foot]


def _place(rows: list[dict[str, Any]], components: str) -> int:
    """Where a set stands in the tables."""
    names = list(dict.fromkeys(row["components"] for row in rows))
    return names.index(components) if components in names else -1
