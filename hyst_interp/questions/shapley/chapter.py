"""Who carries the gap, and who only works together: exact Shapley values of two games beside each other."""

from hyst_interp.analysis.agreement import compared
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import cell, records
from hyst_interp.questions.shapley import of_run as shapley_of_run
from hyst_interp.questions.shapley.controls import values_against_gap
from hyst_interp.questions.shapley.figure import shapley_dumbbells
from hyst_interp.questions.shapley.games import GAMES
from hyst_interp.questions.shapley.summary import SUM, answer_mass, pair_rows, pairs
from hyst_interp.references import DONOR, OWN_MEAN
from hyst_interp.report.answers import UNDETERMINED
from hyst_interp.report.blocks import Cell, Chapter, Figure, Table, both, cells
from hyst_interp.report.run_results import RunResults
from hyst_interp.report.wording import blanks, estimate, listed, method, size
from hyst_interp.statistics import Estimate

WORTH = {
    DONOR.name: "the margin of the hybrid whose players in the coalition come from below and all others from above",
    OWN_MEAN.name: "what the gap loses when the coalition’s players write their own mean in both networks",
}
PAIRS = 8
"""Pairs in the table."""


def chapter(source: RunResults) -> Chapter | None:
    """Left out where no game was played."""
    games = source.once(shapley_of_run.games)
    if not games:
        return None
    rows = {game: records(table) for game, table in games.items()}
    by_place = source.once(shapley_of_run.places)
    tables = {f"players-{game}": _players(some, game) for game, some in rows.items()}
    if by_place is not None:
        tables["places"] = _places(records(by_place))
    tables |= {f"pairs-{game}": _pairs(source, game) for game in games}
    if len(games) == 2:
        tables["games"] = _games(rows)
    played = list(games)
    first = source.results[f"shapley-{played[0]}"]
    words = {
        "players": first.sizes["player"],
        "coalitions": int(first.attrs.get("coalitions", 2 ** first.sizes["player"])),
        "played": played,
        "sum": size(values_against_gap(source.results[f"shapley-{DONOR.name}"])) if DONOR.name in played else None,
        "together": _together(rows[played[0]]),
        "mass": {game: [estimate(mass) for mass in _ends(source, game)] for game in played},
        "rest": rows[OWN_MEAN.name][-1]["rest"] if OWN_MEAN.name in played else None,
    }
    drawn = [_figure(source, game) for game in played]
    return Chapter(
        "shapley", "Who carries the gap, and who only works together", "Who works together", tables, drawn, words
    )


def _ends(source: RunResults, game: str) -> list[Estimate]:
    """Answer mass with nobody, half, and all of the players."""
    masses = answer_mass(source.results[f"shapley-{game}"])
    last = masses.sizes["size"] - 1
    return [cell(masses.isel(size=size)) for size in (0, (last + 1) // 2, last)]


def _figure(source: RunResults, game: str) -> Figure:
    table, with_whom = source.once(shapley_of_run.games)[game], pairs(source.results[f"shapley-{game}"])
    gap = cell(table, player=SUM, quantity="gap")
    return both(
        f"shapley-{game}",
        lambda stacked: shapley_dumbbells(table, with_whom, game, stacked),
        f"A coalition is worth {WORTH[game]}. A player’s Shapley value (diamond, with its interval) is what it adds"
        " when"
        " it joins, averaged over all orders of joining. Under it a line runs from what it does alone, first to join"
        " (ring), to what goes with it, last to join (disc): green towards the gap, the player works with others;"
        " purple"
        " away from it, others stand in for it. Beside it, or below, with whom. Intervals:"
        f" {method(gap)}, not corrected for their number. Heads of different seeds have no common numbering.",
    )


def _together(rows: list[Row]) -> str:
    """Who surely works with others and who is surely stood in for, by the interval of last − first effect."""
    gap = rows[-1]["gap"]
    if gap.estimate is None:
        return ""
    sign = 1 if gap.estimate >= 0 else -1
    sure = [(row["player"], row["together"].estimate * sign) for row in rows[:-1] if row["together"].excludes(0)]
    works = [name for name, towards in sure if towards > 0]
    instead = [name for name, towards in sure if towards < 0]
    parts = [f"surely working with others: {listed(works)}"] if works else []
    parts += [f"surely stood in for by others: {listed(instead)}"] if instead else []
    return "; ".join(parts) or "for no player does the interval of last − first effect leave out 0"


def _players(rows: list[Row], game: str) -> Table:
    lines = []
    for row in rows:
        share = row["share"]
        lines.append(
            cells(
                Cell(str(row["player"]), kind="lead"),
                Cell(estimate(row["shapley"]), kind="lead" if row["player"] == SUM else ""),
                estimate(share),
                *(estimate(row[name]) for name in ("first", "last", "together")),
            )
        )
    gap, rest = rows[-1]["gap"], rows[-1]["rest"]
    head = ("player", "Shapley value", "share of the gap", "first to join", "last to join", "last − first")
    note = (
        f"In logits. Gap: {estimate(gap)}; gap − Σφ: {estimate(rest)}. Intervals: {method(gap)}; shares: ratios of"
        " means"
        " with Fieller’s interval."
    )
    why = blanks(row["share"] for row in rows)
    return Table(f"Every player of the {game} game", head, lines, (note, *why))


def _places(rows: list[Row]) -> Table:
    lines = []
    for row in rows:
        share = row["share"]
        lines.append(cells(Cell(str(row["player"]), kind="lead"), estimate(row["shapley"]), estimate(share)))
    note = (
        "In logits. Shapley values of the donor game, summed over the heads of a layer: a number that does not depend"
        " on"
        " how a seed’s heads are numbered. All rows add up to the gap."
    )
    why = blanks(row["share"] for row in rows)
    return Table("The gap by place", ("place", "sum of Shapley values", "share of the gap"), lines, (note, *why))


def _pairs(source: RunResults, game: str) -> Table:
    rows = pair_rows(pairs(source.results[f"shapley-{game}"]))
    largest = sorted(rows, key=lambda row: -abs(row["interaction"].estimate or 0.0))[:PAIRS]
    lines = [
        cells(
            Cell(f"{row['player_a']} with {row['player_b']}", kind="lead"),
            estimate(row["interaction"]),
            "leaves out 0" if row["interaction"].excludes(0) else UNDETERMINED,
        )
        for row in largest
    ]
    note = (
        f"Shapley interaction index in logits, the {len(largest)} largest of {len(rows)} by their mean: chosen for"
        " being"
        " large, so their intervals are too good."
    )
    return Table(f"Pairs of the {game} game", ("pair", "interaction", "interval"), lines, (note,))


def _games(rows: dict[str, list[Row]]) -> Table:
    donor, mean = ({row["player"]: row["shapley"] for row in rows[game]} for game in GAMES)
    lines = [
        cells(Cell(player, kind="lead"), estimate(donor[player]), estimate(value), compared(donor[player], value))
        for player, value in mean.items()
        if player in donor and player != SUM
    ]
    note = (
        "“agree” if both intervals leave out 0 on one side and overlap, “same sign” if they do not overlap, “opposite"
        " signs”, and “undetermined” where either contains 0. The games ask different things: whose content differs"
        " between the histories, and whose content the gap needs at all."
    )
    return Table("Does it survive another estimator?", ("player", *GAMES, "verdict"), lines, (note,))
