"""`shapley`: every coalition of components instead of some, and what each component carries on average."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyst_interp.analysis.answer_mass import LOW_MASS
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
from hyst_interp.cli.output import Answer, check_format, note, on_terminal
from hyst_interp.errors import UserError
from hyst_interp.references import DONOR, OWN_MEAN
from hyst_interp.sites import is_joined, parse_sets

if TYPE_CHECKING:
    from hyst_interp.storage.manifest import Manifest

GAMES = (DONOR.name, OWN_MEAN.name)
EXPLAINED = {
    DONOR.name: "players come from below or from above; they add up to the gap",
    OWN_MEAN.name: "players write their own mean in both networks",
}
TOP = 6
"""Pairs that the table shows."""


def shapley(
    below: Below,
    above: Above,
    components: Annotated[
        str,
        typer.Option(
            "--components",
            metavar="SET[,SET…]",
            help="The players, every component of the sets by itself: each, heads, mlps, all, or components as in"
            " L0H1,L1MLP.",
        ),
    ] = "each,heads,mlps,all",
    game: Annotated[
        str,
        typer.Option(
            "--game",
            metavar=f"{'|'.join(GAMES)}[,…]",
            help="What a coalition does: its players come from the other history, or write their own mean in both.",
        ),
    ] = ",".join(GAMES),
    trials: NumberOfTrials = 2048,
    seed: Seed = None,
    figure: Figure = None,
    format: Format = "table",
) -> Answer:
    """Play out every coalition of components, and say what each component carries of the gap on average.

    A Shapley value is what a player adds when it joins, averaged over all orders of joining; beside it stand what it
    does first and last to join, and the interactions of pairs.

    \b
    Examples:
      hyst-interp shapley checkpoints/seed-0/order-0/{below,above}
      hyst-interp shapley A B --game donor --figure shapley.html
    """
    check_format(format)
    at_least("--trials", trials, 2)
    check_seed(seed)
    games = tuple(dict.fromkeys(choice("game", part.strip(), GAMES) for part in game.split(",")))
    file = None if figure is None else figure_file(figure)
    manifests = two_checkpoints(below, above)
    _refuse_joined(components, manifests[0])

    from hyst_interp.analysis.histories import Histories
    from hyst_interp.cli.rows import draw
    from hyst_interp.history.guard import one_thread
    from hyst_interp.questions.gap.headline import facts
    from hyst_interp.questions.shapley import methods

    on_terminal(f"playing {' and '.join(games)} on {trials:,} trials, every coalition …")
    with one_thread():  # the same numbers on every call
        pair = Histories.open(below, above, trials, seed)
        data = facts("shapley", pair, manifests)
        accounts = {name: methods.shapley(pair, name, components) for name in games}
    data["games"] = [_game(name, rows) for name, rows in accounts.items()]
    for played in data["games"]:
        if played["permutations"] is not None:
            orders = played["permutations"]
            note(f"{played['game']}: too many players for all coalitions; {orders} orders were sampled.")
    draw(accounts[games[0]], file, data)
    flat = [{"game": played["game"], **row} for played in data["games"] for row in (*played["rows"], *played["pairs"])]
    p0 = manifests[0].setup.p0
    return Answer(data, flat, lambda colour: _table(data, p0, colour), format)


def _refuse_joined(components: str, manifest: "Manifest") -> None:
    """UserError for a set of several components: a player is one."""
    model = manifest.setup.model
    for players in parse_sets(components, model.n_layers, model.n_heads, model.d_mlp > 0):
        if is_joined(players.name):
            raise UserError(
                f"'{players.name}' is one set, but players of a Shapley value are single components; write"
                f" {players.name.replace('+', ',')}."
            )


def _game(game: str, rows) -> dict[str, Any]:
    from hyst_interp.analysis.summary import records
    from hyst_interp.cli.rows import plain
    from hyst_interp.questions.shapley.summary import answer_mass

    account = rows.found
    exact = "coalitions" in account.attrs
    return {
        "game": game,
        "method": account.attrs["method"],
        "coalitions": int(account.attrs["coalitions"]) if exact else None,
        "permutations": None if exact else int(account.attrs["permutations"]),
        "rows": [plain(row) for row in rows],
        "pairs": [plain(row) for row in rows.beside.get("pairs", ())],
        "answer_mass": [row["estimate"].to_dict() for row in records(answer_mass(account))] if exact else [],
    }


def _table(data: dict[str, Any], p0: float, colour: bool) -> str:
    from hyst_interp.cli.rows import written
    from hyst_interp.cli.tables import paragraph
    from hyst_interp.questions.gap.headline import headline

    lines = headline(data, p0)
    for played in data["games"]:
        lines += [*_account(played, colour), ""]
    foot = [
        "Shapley value: what a player adds when it joins, averaged over all orders. alone: when it is first;"
        " last: when all others have. Where last goes further towards the gap, a player works together with others;"
        " where alone does, others stand in for it.",
        "Intervals of many players and pairs stand side by side, uncorrected.",
    ]
    return "\n".join([*lines, *(paragraph(line, hang="  ") for line in foot), *written(data)])


def _account(played: dict[str, Any], colour: bool) -> list[str]:
    from hyst_interp.cli.tables import estimate_text, layout, number, paragraph

    how = (
        f"{played['coalitions']:,} coalitions, exact"
        if played["permutations"] is None
        else f"{played['permutations']} orders, sampled"
    )
    body = [
        [
            row["player"],
            estimate_text(row["shapley"]),
            estimate_text(row["share"], 2),
            number(row["first"]["estimate"]),
            number(row["last"]["estimate"]),
        ]
        for row in played["rows"]
    ]
    head = ["player", "Shapley value", "share of the gap", "alone", "last"]
    lines = [
        paragraph(f"{played['game']}: {EXPLAINED[played['game']]} ({how})"),
        layout(head, body, "lllrr", colour),
    ]
    rest = played["rows"][-1]["rest"]
    lines.append(paragraph(f"gap − sum: {_rest(rest)}"))
    if played["pairs"]:
        largest = sorted(played["pairs"], key=lambda pair: -abs(pair["interaction"]["estimate"]))[:TOP]
        body = [[f"{pair['player_a']} × {pair['player_b']}", estimate_text(pair["interaction"])] for pair in largest]
        lines += ["", layout(["largest interactions", "logits"], body, "ll", colour)]
    if played["answer_mass"]:
        lowest = min(mass["estimate"] for mass in played["answer_mass"])
        far = ": where it is low, networks are far from where they were trained" if lowest < LOW_MASS else ""
        lines.append(paragraph(f"answer mass, mean over coalitions of a size: at least {lowest:.2f}{far}."))
    return lines


def _rest(rest: dict[str, Any]) -> str:
    """What no player moves; rounding of a sum that is exact is 0."""
    from hyst_interp.cli.tables import estimate_text

    if max(abs(rest["low"] or 0), abs(rest["high"] or 0), abs(rest["estimate"])) < 1e-9:
        return "0 (the values add up to the gap)"
    return f"{estimate_text(rest)} logits, which no player moves"
