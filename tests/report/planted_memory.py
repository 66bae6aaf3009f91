"""Planted results of everything that looks for the memory: additive worlds whose answers are known; nothing is trained.

The gap is `GAP` in all of them. Weights carry `WEIGHTS` of it after an update and first moments the rest; MLPs' inputs
carry `SHARE` among the weights, L0H0 among the players, and the value of L1H1 reading L0H0 among the edges.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from hyst_interp.config import StudyConfig
from hyst_interp.questions.crossing.layer_swap import depths
from hyst_interp.questions.crossing.measure import EVERYWHERE
from hyst_interp.questions.edges.edge_attribution import STEPS
from hyst_interp.questions.edges.graph import Graph
from hyst_interp.questions.edges.measure import edge_coords
from hyst_interp.questions.information.measure import REPLACEMENTS
from hyst_interp.questions.shapley.games import EVERYTHING_ELSE
from hyst_interp.questions.shapley.measure import first_effects, interactions, last_effects, shapley_values
from hyst_interp.questions.transplant.optimizer_cells import CELLS, WHAT
from hyst_interp.questions.weights.weight_groups import families, groups
from hyst_interp.sites import components
from hyst_interp.tasks.recall import ROLES

BRANCHES = ["below", "above"]
SIGNS = np.array([1.0, -1.0])
GAP, WEIGHTS, SHARE, TRIALS = 0.3, 0.2, 0.75, 16
LARGEST = "L0H0→L1H1.v"


def noise(key: int, *shape: int, scale: float = 0.004) -> np.ndarray:
    return np.random.default_rng(key).normal(0, scale, shape)


def coords(study: StudyConfig) -> dict[str, list[int]]:
    return {"seed": list(study.seeds), "order": list(range(study.localization.orders))}


def size(study: StudyConfig) -> tuple[int, int]:
    return len(study.seeds), study.localization.orders


def margins(study: StudyConfig, key: int = 7) -> np.ndarray:
    """(seed, order, branch, trial), GAP apart, each seed a little different."""
    n_seeds, n_orders = size(study)
    gaps = GAP + noise(key, n_seeds, n_orders, TRIALS)
    return gaps[:, :, None] / 2 * SIGNS[:, None] + noise(key + 1, n_seeds, n_orders, TRIALS)[:, :, None]


def transplant(study: StudyConfig) -> xr.Dataset:
    """At 0 updates all is weights; later weights carry WEIGHTS, and the first moment's owner GAP − WEIGHTS."""
    updates = list(study.localization.updates)
    first_owner = {"other": -1.0, "first moment": -1.0, "own": 1.0, "second moment": 1.0}
    found = np.empty((*size(study), 2, len(CELLS), len(updates), TRIALS))
    for w, sign in enumerate(SIGNS):
        for c, cell in enumerate(CELLS):
            for u, update in enumerate(updates):
                level = GAP if update == 0 else WEIGHTS
                moment = 0 if update == 0 else (GAP - WEIGHTS) * first_owner.get(cell, 0.0)
                found[:, :, w, c, u] = sign * (level + moment) / 2 + sign * noise(u, *size(study), TRIALS)
    dims = ("seed", "order", "weights", "optimizer", "update", "trial")
    where = coords(study) | {"weights": BRANCHES, "optimizer": list(CELLS), "update": updates}
    what = {"what": ("optimizer", [WHAT[cell] for cell in CELLS])}
    return xr.Dataset({"margin": (dims, found)}, where | what, {"moments": "exp_avg, exp_avg_sq", "hold": 0})


def weights(study: StudyConfig) -> xr.Dataset:
    rows = [("group", one) for one in groups(study.model)] + [("family", one) for one in families(study.model)]
    share = np.array([SHARE / study.model.n_layers if "MLP in" in one.name else 0.01 for _, one in rows])
    share[[one.name == "MLP in" for _, one in rows]] = SHARE
    margin = margins(study)
    gap = margin[:, :, 0] - margin[:, :, 1]
    after = np.empty((*size(study), 2, 2, len(rows), TRIALS))
    for branch, sign in enumerate(SIGNS):
        moved = margin[:, :, branch, None] - sign * share[:, None] * gap[:, :, None]
        after[:, :, 0, branch] = moved
        after[:, :, 1, 1 - branch] = moved
    head = ("seed", "order")
    labels = {name: ("group", [pick(row) for row in rows]) for name, pick in PICKS.items()}
    return xr.Dataset(
        {
            "margin": ((*head, "branch", "trial"), margin),
            "margin_after": ((*head, "move", "branch", "group", "trial"), after),
            "margin_all": ((*head, "branch", "trial"), margin[:, :, ::-1]),
        },
        coords(study) | {"move": ["one", "all but one"], "branch": BRANCHES, "group": np.arange(len(rows))} | labels,
    )


PICKS = {"name": lambda row: row[1].name, "family": lambda row: row[1].family, "level": lambda row: row[0]}


def shapley(study: StudyConfig, game: str) -> xr.Dataset:
    """L0H0 carries SHARE; L0MLP and L1H1 an eighth, together only; the last player of the donor game the rest."""
    members = [str(one) for one in components(study.model.n_layers, study.model.n_heads, bool(study.model.d_mlp))]
    players = [*members, str(EVERYTHING_ELSE)] if game == "donor" else members
    masks = np.arange(2 ** len(players))
    inside = {player: (masks >> bit) & 1 for bit, player in enumerate(players)}
    worth = SHARE * inside["L0H0"] + 0.125 * inside["L0MLP"] * inside["L1H1"]
    worth = worth + (0.125 * inside[players[-1]] if game == "donor" else 0.0)
    gap = np.round(1024 * (GAP + noise(11, *size(study), TRIALS))) / 1024  # so that differences are exact
    table = worth[:, None, None, None] * gap
    if game == "donor":
        above = -gap / 2
        table = table + above
    names = {"shapley": shapley_values, "first": first_effects, "last": last_effects}
    head = ("seed", "order", "trial")
    variables: dict = {name: (("player", *head), take(table)) for name, take in names.items()}
    variables |= {"gap": (head, gap), "value_all": (head, table[-1]), "value_none": (head, table[0])}
    variables["interaction"] = (("player_a", "player_b", "seed", "order"), interactions(table).mean(-1))
    mass = np.broadcast_to(
        np.linspace(0.98, 0.9, len(players) + 1)[:, None, None, None], (len(players) + 1, *gap.shape)
    )
    variables["answer_mass"] = (("size", *head), mass)
    where = {"player": players, "player_a": players, "player_b": players, "size": np.arange(len(players) + 1)}
    return xr.Dataset(variables, coords(study) | where, {"game": game, "coalitions": len(masks)})


def information(study: StudyConfig) -> xr.Dataset:
    """A linear world: heads carry the whole gap, two thirds by their mean; all replacements stay near."""
    every = [str(one) for one in components(study.model.n_layers, study.model.n_heads, bool(study.model.d_mlp))]
    sets = [*every, "heads", "mlps", "all"]
    whole = np.array([1.0 if one in ("heads", "all", "L0H0") else 0.0 for one in sets])
    mean, rest = whole * 2 / 3, whole / 3
    moved = {"whole": whole, "mean": mean, "information": rest, "own-mean": rest, "pooled-mean": whole}
    moved |= {"anchor-mean": whole, "other-mean": whole + mean}
    margin = margins(study)
    gap = margin[:, :, 0] - margin[:, :, 1]
    shape = (*size(study), len(REPLACEMENTS), len(sets), 2, TRIALS)
    after = np.empty(shape)
    for r, name in enumerate(REPLACEMENTS):
        both = 1.0 if name in ("whole", "mean", "information") else 0.5
        for branch, sign in enumerate(SIGNS):
            step = both * sign * moved[name][:, None] * gap[:, :, None]
            after[:, :, r, :, branch] = margin[:, :, branch, None] - step
    dims = ("seed", "order", "replacement", "components", "branch", "trial")
    short = ("seed", "order", "branch", "trial")
    full = {"answer_mass_after": 0.97, "divergence": 0.01, "stream_change": 0.05}
    variables: dict = {
        name: (dims, np.full(shape, value) + noise(3, *shape, scale=1e-4)) for name, value in full.items()
    }
    level = (*size(study), 2, TRIALS)
    variables |= {"margin": (short, margin), "margin_after": (dims, after)}
    variables |= {"answer_mass": (short, np.full(level, 0.98)), "divergence_between": (short, np.full(level, 0.02))}
    where = {"replacement": list(REPLACEMENTS), "components": sets, "branch": BRANCHES}
    return xr.Dataset(variables, coords(study) | where)


def _moved(study: StudyConfig, share: np.ndarray, dims: Sequence[str], labels: dict, attrs: dict) -> xr.Dataset:
    """Margins, and margins after moving `share` of the gap, half as much again into below as into above."""
    margin = margins(study)
    gap = (margin[:, :, 0] - margin[:, :, 1])[:, :, *[None] * share.ndim, :]
    after = np.stack(
        [
            margin[:, :, branch][:, :, *[None] * share.ndim, :] - sign * factor * share[..., None] * gap
            for branch, (sign, factor) in enumerate(zip(SIGNS, (1.2, 0.8), strict=True))
        ],
        axis=2,
    )
    head = ("seed", "order", "branch")
    where = coords(study) | {"branch": BRANCHES} | labels
    variables = {"margin": ((*head, "trial"), margin), "margin_after": ((*head, *dims, "trial"), after)}
    return xr.Dataset(variables, where, attrs)


def crossing(study: StudyConfig, kind: str) -> xr.Dataset:
    n_layers, n_heads = study.model.n_layers, study.model.n_heads
    labels: dict = {"layer": list(range(n_layers + (kind == "resid_pre")))}
    labels |= {"head": list(range(n_heads))} if kind == "result" else {}
    labels |= {"role": [*ROLES, EVERYWHERE]}
    shape = tuple(len(one) for one in labels.values())
    share = np.sin(1 + np.arange(np.prod(shape))).reshape(shape) / 2
    return _moved(study, share, tuple(labels), labels, {"site": kind})


def swapped(study: StudyConfig) -> xr.Dataset:
    """Depths that meet `crossing`'s residual stream where it is moved everywhere; the ends are exact."""
    names = depths(study.model.n_layers, bool(study.model.d_mlp))
    stream = crossing(study, "resid_pre").sel(role="everywhere")["margin_after"]
    margin = margins(study)
    after = np.empty((*size(study), 2, len(names), TRIALS))
    per_layer = (len(names) - 4) // study.model.n_layers
    for depth in range(len(names)):
        layer = (depth - 1) // per_layer
        after[:, :, :, depth] = stream.isel(layer=min(max(layer, 0), study.model.n_layers)).values
    after[:, :, :, 0], after[:, :, :, -1] = margin, margin[:, :, ::-1]
    head = ("seed", "order", "branch")
    return xr.Dataset(
        {
            "margin": ((*head, "trial"), margin),
            "margin_after": ((*head, "rung", "trial"), after),
            "end_error": ((*head, "end"), np.zeros((*size(study), 2, 2))),
        },
        coords(study) | {"branch": BRANCHES, "rung": list(names), "end": ["receiver", "donor"]},
    )


def mechanism(study: StudyConfig) -> xr.Dataset:
    """The behaviour halves from stop to stop; the heads keep nine tenths: later, at every stop."""
    names = ["heads", "mlps", "all", "resid_pre 0", "resid_pre 1", "resid_post"]
    positions = [80, 85, 90]
    margin = margins(study)
    gap = margin[:, :, 0] - margin[:, :, 1]
    levels = np.empty((*size(study), len(positions), 2, TRIALS))
    after = np.empty((*size(study), len(positions), len(names), 2, TRIALS))
    for stop in range(len(positions)):
        for branch, sign in enumerate(SIGNS):
            levels[:, :, stop, branch] = sign * gap / 2 * 0.5**stop
            left = np.array([0.9**stop if name == "heads" else 0.5**stop for name in names])
            after[:, :, stop, :, branch] = levels[:, :, stop, None, branch] - sign * left[:, None] * gap[:, :, None]
    head = ("seed", "order", "position")
    where = coords(study) | {"position": positions, "tau": ("position", [5.0, 10.0, 15.0])}
    variables = {"margin": ((*head, "branch", "trial"), levels)}
    variables |= {"margin_after": ((*head, "mechanism", "branch", "trial"), after)}
    return xr.Dataset(variables, where | {"mechanism": names, "branch": BRANCHES})


def graph_of(study: StudyConfig) -> Graph:
    return Graph(study.model.n_layers, study.model.n_heads, bool(study.model.d_mlp))


def routes(study: StudyConfig) -> xr.Dataset:
    """A map by twin; from above 1.1 times from below, every order and seed a little apart."""
    edges, twins = graph_of(study).edges, list(study.patching.twins)
    base = np.stack([np.sin(1 + np.arange(len(edges)) * (i + 1)) ** 3 for i in range(len(twins))])
    shape = (*size(study), len(twins), 2, len(edges), TRIALS)
    effect = noise(21, *shape, scale=0.02) + base[:, None, :, None] * np.array([1, 1.1])[:, None, None]
    head = ("seed", "order", "twin", "branch")
    where = coords(study) | {"twin": twins, "branch": BRANCHES, **edge_coords(edges)}
    return xr.Dataset({"effect": ((*head, "edge", "trial"), effect)}, where)


def routes_gap(study: StudyConfig) -> xr.Dataset:
    edges = graph_of(study).edges
    share = np.array([SHARE if str(one) == LARGEST else 0.0 for one in edges])
    found = _moved(study, share, ("edge",), edge_coords(edges), {"twin": "the other history"})
    mass = xr.full_like(found["margin_after"], 0.97)
    return found.assign(answer_mass=mass).assign_coords(reference=("edge", ["donor"] * len(edges)))


def circuits(study: StudyConfig) -> xr.Dataset:
    """Half of the edges keep the wanted share from below, two more from above; random ones need nearly all."""
    edges, twins = graph_of(study).edges, list(study.patching.twins)
    n = len(edges)
    shape = (*size(study), len(twins), 2)
    kept, rank = np.empty((*shape, n + 1)), np.empty((*shape, n), np.int64)
    order = np.random.default_rng(5).permutation(n)
    for branch in (0, 1):
        steps = np.minimum(np.arange(n + 1) / (n // 2 + 2 * branch), 1.0)
        kept[:, :, :, branch] = np.where(steps >= 0.999, 1.0, 0.89 * steps)
        rank[:, :, :, branch] = np.argsort(order)
    places = np.linspace(0, n, 5).astype(int)
    floor = np.broadcast_to((places / n) ** 4, (*shape, 2, 5))
    head = ("seed", "order", "twin", "branch")
    variables = {"faithfulness": ((*head, "size"), kept), "rank": ((*head, "edge"), rank)}
    variables["floor"] = ((*head, "ranking", "floor_size"), floor)
    where = {"twin": twins, "branch": BRANCHES, "size": np.arange(n + 1), "floor_size": places, **edge_coords(edges)}
    return xr.Dataset(variables, coords(study) | where)


def attribution(study: StudyConfig) -> xr.Dataset:
    """Scores that settle as 1 / steps."""
    edges, twins = graph_of(study).edges, list(study.patching.twins)
    exact = routes(study)["effect"].mean("trial").values
    off = 1 / np.array(STEPS)
    score = exact[:, :, :, :, None] * (1 + off[:, None] / 10)
    head = ("seed", "order", "twin", "branch")
    flat = np.broadcast_to(off, (*exact.shape[:4], len(STEPS)))
    variables: dict = {name: ((*head, "steps"), flat) for name in ("change", "incompleteness", "error")}
    variables |= {name: ((*head, "steps"), 1 - flat / 10) for name in ("pearson", "spearman", "slope")}
    variables |= {"score": ((*head, "steps", "edge"), score), "exact": ((*head, "edge"), exact)}
    where = {"twin": twins, "branch": BRANCHES, "steps": list(STEPS), **edge_coords(edges)}
    return xr.Dataset(variables, coords(study) | where)


def memory_results(study: StudyConfig) -> dict[str, xr.Dataset]:
    """Name of the results file → planted results."""
    found = {"transplant": transplant(study), "weights": weights(study), "information": information(study)}
    found |= {f"shapley-{game}": shapley(study, game) for game in ("donor", "own-mean")}
    found |= {f"crossing-{kind}": crossing(study, kind) for kind in ("resid_pre", "result", "mlp_out")}
    found |= {"ladder": swapped(study), "mechanism": mechanism(study), "routes": routes(study)}
    return found | {"routes-gap": routes_gap(study), "circuits": circuits(study), "attribution": attribution(study)}
