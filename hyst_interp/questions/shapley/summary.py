"""Shapley accounts as tables: of players and their sum, of places, of pairs, and of the coalitions by size.

Intervals are over seeds; accounts of one pair have none, and theirs are over trials and say that they speak of these
two networks only. Intervals of many players stand side by side uncorrected; whoever picks the largest has to say so.
"""

from dataclasses import replace

import xarray as xr

from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import (
    NOT_MEASURED,
    from_estimates,
    join,
    records,
    replicate_of,
    replicates,
    shares,
    summarise,
)
from hyst_interp.statistics import student_t, undefined

SUM = "sum"
"""Name of the last player."""


def players(account: xr.Dataset) -> xr.Dataset:
    """The table of an account, dims (quantity, player); the last player is `sum`.

    Quantities: `shapley`, its `share` of the gap (ratio of means, undefined where the gap may be 0), `first` and `last`
    effect, `together` (last − first: of the gap's sign where it needs the others, of the other sign where they stand in
    for it); sampled accounts of one pair also `sampling`, the same value with the interval over samples of orders. The
    sum alone has `gap`, and `rest`, the gap − Σφ: 0 in the donor game, else what no player moves.

    Args:
        account: `shapley`'s or `sampled_shapley`'s Dataset, of one pair, or with dims `seed` and `order`.
    """
    gap = replicates(account["gap"])
    single = account[["shapley", "first", "last"]].map(replicates)
    everybody = single.sum("player").expand_dims(player=[SUM])
    values = xr.concat([single, everybody], "player")
    of_sum = values["player"] == SUM
    tables = {
        "shapley": summarise(values["shapley"], "logits"),
        "share": shares(values["shapley"], gap),
        "first": summarise(values["first"], "logits"),
        "last": summarise(values["last"], "logits"),
        "together": summarise(values["last"] - values["first"], "logits"),
    }
    if "sample_mean" in account and replicate_of(account) == "trial":
        tables["sampling"] = _sampling(account["sample_mean"])
    tables["gap"] = summarise(gap.where(of_sum), "logits")
    tables["rest"] = summarise((gap - values["shapley"]).where(of_sum), "logits")
    return join(tables)


def places(account: xr.Dataset) -> xr.Dataset:
    """Shapley values summed over the heads of a layer, which needs no numbering of heads, then all other players.

    Dims (quantity, player), quantities `shapley` and its `share` of the gap; players are `L0 heads`, `L0MLP`, ….
    Sums of Shapley values share the gap out among the places; they are not the values of a game between places.
    """
    members: dict[str, list[str]] = {}
    for player in map(str, account["player"].values):
        members.setdefault(f"{player.partition('H')[0]} heads" if "H" in player else player, []).append(player)
    values = replicates(account["shapley"])
    summed = xr.concat([values.sel(player=some).sum("player") for some in members.values()], "player")
    summed = summed.assign_coords(player=list(members))
    return join({"shapley": summarise(summed, "logits"), "share": shares(summed, replicates(account["gap"]))})


def pairs(account: xr.Dataset) -> xr.Dataset | None:
    """The interaction of every pair, symmetric, dims (player_a, player_b); None where pairs were not measured."""
    return summarise(account["interaction"], "logits") if "interaction" in account else None


def pair_rows(table: xr.Dataset | None) -> list[Row]:
    """One row a pair of players, each pair once: `player_a`, `player_b`, `interaction`; none of no table."""
    if table is None:
        return []
    order = {str(player): index for index, player in enumerate(table["player_a"].values)}
    rows = records(join({"interaction": table}))
    return [row for row in rows if order[row["player_a"]] < order[row["player_b"]]]


def answer_mass(account: xr.Dataset) -> xr.Dataset:
    """P(contextual) + P(fixed), dim (size,), from nobody to all: how far hybrids are from answering."""
    return summarise(account["answer_mass"], "probability")


def _sampling(means: xr.DataArray) -> xr.Dataset:
    """The interval over samples of orders, of every player but the sum."""
    method = "Student-t over samples of orders; the pair and its trials taken as given"
    columns = means.transpose("player", "sample").values
    estimates = [replace(student_t(column, "logits"), method=method) for column in columns]
    labels = [*map(str, means["player"].values), SUM]
    return from_estimates([*estimates, undefined(NOT_MEASURED, "logits", 0)], "player", labels)
