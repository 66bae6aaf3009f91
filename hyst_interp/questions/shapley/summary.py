"""Shapley accounts as numbers with intervals: a row a player and one for their sum, a row a pair, and arrays to draw.

A seed's value is its mean over trials and data orders; intervals are Student's t over seeds. Accounts of one pair have
no seed: their intervals are over trials, and say that they speak of these two networks only. Intervals of many players
stand side by side uncorrected; whoever picks the largest has to say so.
"""

from dataclasses import replace

import xarray as xr

from hyst_interp.analysis.replicates import as_arrays, over_seeds
from hyst_interp.analysis.rows import Row
from hyst_interp.analysis.summary import per_seed
from hyst_interp.statistics import Estimate, over_trials, ratio_of_means, student_t

SUM = "sum"
"""Name of the last row."""
QUANTITIES = ("shapley", "first", "last", "together")
"""Estimates of a row that `player_arrays` hands to a figure."""


def shapley_rows(found: xr.Dataset) -> list[Row]:
    """One row a player, then the row `sum`.

    Keys: `player`; `shapley`, its `share` of the gap (ratio of means, undefined where the gap may be 0), `first` and
    `last` effect, `together` (last − first: of the gap's sign where it needs the others, of the other sign where they
    stand in for it); sampled accounts of one pair also `sampling`, the same value with the interval over samples of
    orders. The sum has `gap`, and `rest`, the gap − Σφ: 0 in the donor game, else what no player moves.

    Args:
        found: `shapley`'s or `sampled_shapley`'s Dataset, of one pair, or with dims `seed` and `order`.
    """
    names = ["shapley", "first", "last", "gap"]
    values = xr.Dataset({name: _replicates(found[name]) for name in names})
    rows = [
        _row(str(player), values.sel(player=player, drop=True)) | _sampling(found, player)
        for player in found["player"].values
    ]
    summed = values[["shapley", "first", "last"]].sum("player").assign(gap=values["gap"])
    total = _row(SUM, summed)
    total |= {"gap": _estimate(values["gap"]), "rest": _estimate(values["gap"] - summed["shapley"])}
    return [*rows, total]


def place_rows(found: xr.Dataset) -> list[Row]:
    """Shapley values summed over the heads of a layer, which needs no numbering of heads, then all other players.

    Keys: `player` (`L0 heads`, `L0MLP`, …), `shapley`, and its `share` of the gap. Sums of Shapley values share the gap
    out among the places; they are not the values of a game between places.
    """
    values = xr.Dataset({name: _replicates(found[name]) for name in ("shapley", "gap")})
    places: dict[str, list[int]] = {}
    for index, player in enumerate(str(player) for player in found["player"].values):
        places.setdefault(f"{player.partition('H')[0]} heads" if "H" in player else player, []).append(index)
    over = "seeds" if "seed" in values.dims else "trials"
    rows: list[Row] = []
    for place, indices in places.items():
        summed = values["shapley"].isel(player=indices).sum("player")
        share = ratio_of_means(summed.values, values["gap"].values, unit="share of the gap", over=over)
        rows.append({"player": place, "shapley": _estimate(summed), "share": share})
    return rows


def pair_rows(found: xr.Dataset) -> list[Row]:
    """One row a pair of players: `player_a`, `player_b`, `interaction`; none where pairs were not measured."""
    if "interaction" not in found:
        return []
    names = [str(player) for player in found["player_a"].values]
    return [
        {"player_a": a, "player_b": b, "interaction": _estimate(_replicates(_pair(found, a, b)))}
        for index, a in enumerate(names)
        for b in names[index + 1 :]
    ]


def answer_mass(found: xr.Dataset) -> list[Estimate]:
    """P(contextual) + P(fixed) by the size of the coalition, from nobody to all: how far hybrids are from answering."""
    masses = _replicates(found["answer_mass"])
    return [_estimate(masses.isel(size=size), "probability") for size in range(masses.sizes["size"])]


def player_arrays(rows: list[Row]) -> xr.Dataset:
    """Rows as labelled arrays for a figure: `estimate`, `low`, `high`, dims (quantity, player); NaN where undefined.

    `share` is a coordinate of `player`, as text; the row `sum` is among the players.
    """
    columns = [as_arrays([row[name] for row in rows], "player") for name in QUANTITIES]
    words = {
        "player": [str(row["player"]) for row in rows],
        "share": ("player", [_share(row["share"]) for row in rows]),
    }
    joined = xr.concat(columns, dim="quantity").assign_coords(quantity=list(QUANTITIES), **words)
    return joined.assign_attrs(columns[0].attrs)


def gap_array(rows: list[Row]) -> xr.Dataset:
    """`estimate`, `low`, `high` of the gap, without dims, for a figure."""
    return as_arrays([rows[-1]["gap"]], "cell").isel(cell=0)


def pair_arrays(rows: list[Row]) -> xr.Dataset:
    """`estimate`, `low`, `high` of every pair, symmetric, dims (player_a, player_b); NaN on the diagonal."""
    names = list(dict.fromkeys(str(row[key]) for row in rows for key in ("player_a", "player_b")))
    flat = as_arrays([row["interaction"] for row in rows], "pair")
    blank = xr.DataArray(float("nan"), {"player_a": names, "player_b": names}, ("player_a", "player_b"))
    found = xr.Dataset({name: blank.copy(deep=True) for name in flat.data_vars}, attrs=flat.attrs)
    for index, row in enumerate(rows):
        for a, b in ((row["player_a"], row["player_b"]), (row["player_b"], row["player_a"])):
            for name in flat.data_vars:
                found[name].loc[{"player_a": a, "player_b": b}] = flat[name].values[index]
    return found


def _row(name: str, one: xr.Dataset) -> Row:
    over = "seeds" if "seed" in one.dims else "trials"
    share = ratio_of_means(one["shapley"].values, one["gap"].values, unit="share of the gap", over=over)
    row: Row = {"player": name, "shapley": _estimate(one["shapley"]), "share": share}
    row |= {key: _estimate(one[key]) for key in ("first", "last")}
    return row | {"together": _estimate(one["last"] - one["first"])}


def _sampling(found: xr.Dataset, player: object) -> Row:
    if "sample_mean" not in found or "seed" in found["sample_mean"].dims:
        return {}
    one = student_t(found["sample_mean"].sel(player=player).values, "logits")
    return {"sampling": replace(one, method="Student-t over samples of orders; the pair and its trials taken as given")}


def _pair(found: xr.Dataset, a: str, b: str) -> xr.DataArray:
    return found["interaction"].sel(player_a=a, player_b=b, drop=True)


def _replicates(values: xr.DataArray) -> xr.DataArray:
    """One value a seed, or, for one pair, one a trial."""
    return per_seed(values) if "seed" in values.dims else values


def _estimate(values: xr.DataArray, unit: str = "logits") -> Estimate:
    return over_seeds(values, unit) if "seed" in values.dims else over_trials(values.values, unit)


def _share(share: Estimate) -> str:
    """Two decimals: `+0.24 [+0.22, +0.26]`; a small player's share is +0.00, not a power of ten."""
    if share.estimate is None or share.low is None or share.high is None:
        return "undefined"
    number, low, high = (f"{round(value, 2) + 0.0:+.2f}" for value in (share.estimate, share.low, share.high))
    return f"{number} [{low}, {high}]"
