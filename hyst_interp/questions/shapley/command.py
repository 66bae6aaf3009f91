"""`attenuate --shapley`: the same replacements, every coalition of components instead of some, and each its share."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyst_interp.cli.output import Answer, note, on_terminal
from hyst_interp.errors import UserError
from hyst_interp.sites import parse_sets

if TYPE_CHECKING:
    from hyst_interp.storage.manifest import Manifest

GAMES = ("donor", "own-mean")
EXPLAINED = {
    "donor": "players come from below or from above; they add up to the gap",
    "own-mean": "players write their own mean in both networks",
}
LOW_MASS = 0.9
TOP = 6
"""Pairs that the table shows."""


def refuse_meaningless(
    manifest: "Manifest", components: str, asked: tuple[str, ...] | None, positions: str, anchor: str | None
) -> tuple[str, ...]:
    """The games to play; UserError for what means nothing beside --shapley."""
    for name in asked or ():
        if name not in GAMES:
            raise UserError(f"--reference {name} makes no game; with --shapley use donor, own-mean, or both.")
    if positions != "query":
        raise UserError(
            f"--positions {positions} means nothing with --shapley, which replaces at the query; leave it out."
        )
    if anchor is not None:
        raise UserError(f"--anchor '{anchor}' means nothing with --shapley, which has no anchor-mean; leave it out.")
    model = manifest.setup.model
    for one in parse_sets(components, model.n_layers, model.n_heads, model.d_mlp > 0):
        if "+" in one.name:
            raise UserError(
                f"'{one.name}' is one set, but players of a Shapley value are single components; write"
                f" {one.name.replace('+', ',')}."
            )
    return asked or GAMES


def shapley_answer(
    below: str,
    above: str,
    manifests: "tuple[Manifest, Manifest]",
    components: str,
    games: tuple[str, ...],
    trials: int,
    seed: int | None,
    file: Path | None,
    format: str,
) -> Answer:
    """Measure and lay out; every argument has been checked."""
    from hyst_interp.cli.pairs import draw, facts
    from hyst_interp.facade import pair
    from hyst_interp.history.guard import one_thread

    on_terminal(f"playing {' and '.join(games)} on {trials:,} trials, every coalition …")
    with one_thread():  # the same numbers on every call
        found = pair(below, above, trials, seed)
        data = facts("attenuate-shapley", found, manifests)
        accounts = {game: found.shapley(game, components) for game in games}
    data["games"] = [_game(game, rows) for game, rows in accounts.items()]
    for one in data["games"]:
        if one["permutations"] is not None:
            note(f"{one['game']}: too many players for all coalitions; {one['permutations']} orders were sampled.")
    draw(accounts[games[0]], file, data)
    flat = [{"game": one["game"], **row} for one in data["games"] for row in (*one["rows"], *one["pairs"])]
    p0 = manifests[0].setup.p0
    return Answer(data, flat, lambda colour: _table(data, p0, colour), format)


def _game(game: str, rows) -> dict[str, Any]:
    from hyst_interp.cli.pairs import plain
    from hyst_interp.questions.shapley.summary import answer_mass

    found = rows.found
    exact = "coalitions" in found.attrs
    return {
        "game": game,
        "method": found.attrs["method"],
        "coalitions": int(found.attrs["coalitions"]) if exact else None,
        "permutations": None if exact else int(found.attrs["permutations"]),
        "rows": [plain(row) for row in rows],
        "pairs": [plain(row) for row in rows.beside.get("pairs", ())],
        "answer_mass": [one.to_dict() for one in answer_mass(found)] if exact else [],
    }


def _table(data: dict[str, Any], p0: float, colour: bool) -> str:
    from hyst_interp.cli.pairs import written
    from hyst_interp.cli.tables import paragraph
    from hyst_interp.questions.attenuation.command import headline

    lines = headline(data, p0)
    for one in data["games"]:
        lines += [*_account(one, colour), ""]
    foot = [
        "Shapley value: what a player adds when it joins, averaged over all orders. alone: when it is first;"
        " last: when all others have. Where last goes further towards the gap, a player works together with others;"
        " where alone does, others stand in for it.",
        "Intervals of many players and pairs stand side by side, uncorrected.",
    ]
    return "\n".join([*lines, *(paragraph(line, hang="  ") for line in foot), *written(data)])


def _account(one: dict[str, Any], colour: bool) -> list[str]:
    from hyst_interp.cli.tables import estimate_text, layout, number, paragraph

    how = (
        f"{one['coalitions']:,} coalitions, exact"
        if one["permutations"] is None
        else f"{one['permutations']} orders, sampled"
    )
    body = [
        [
            row["player"],
            estimate_text(row["shapley"]),
            estimate_text(row["share"], 2),
            number(row["first"]["estimate"]),
            number(row["last"]["estimate"]),
        ]
        for row in one["rows"]
    ]
    head = ["player", "Shapley value", "share of the gap", "alone", "last"]
    lines = [
        paragraph(f"{one['game']}: {EXPLAINED[one['game']]} ({how})"),
        layout(head, body, "lllrr", colour),
    ]
    rest = one["rows"][-1]["rest"]
    lines.append(paragraph(f"gap − sum: {_rest(rest)}"))
    if one["pairs"]:
        largest = sorted(one["pairs"], key=lambda pair: -abs(pair["interaction"]["estimate"]))[:TOP]
        body = [[f"{pair['player_a']} × {pair['player_b']}", estimate_text(pair["interaction"])] for pair in largest]
        lines += ["", layout(["largest interactions", "logits"], body, "ll", colour)]
    if one["answer_mass"]:
        lowest = min(mass["estimate"] for mass in one["answer_mass"])
        far = ": where it is low, networks are far from where they were trained" if lowest < LOW_MASS else ""
        lines.append(paragraph(f"answer mass, mean over coalitions of a size: at least {lowest:.2f}{far}."))
    return lines


def _rest(rest: dict[str, Any]) -> str:
    """What no player moves; rounding of a sum that is exact is 0."""
    from hyst_interp.cli.tables import estimate_text

    if max(abs(rest["low"] or 0), abs(rest["high"] or 0), abs(rest["estimate"])) < 1e-9:
        return "0 (the values add up to the gap)"
    return f"{estimate_text(rest)} logits, which no player moves"
