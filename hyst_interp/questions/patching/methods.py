"""Patching maps of both histories and their difference.

Each function is a method of `Pair`; numbers over the trials of one pair speak of these two networks only.
"""

from collections.abc import Sequence

import xarray as xr

from hyst_interp.analysis.histories import Histories
from hyst_interp.analysis.pair_data import twin_trials
from hyst_interp.config.schedule import BRANCHES
from hyst_interp.interventions.patching import Axis, Direction, patching_map
from hyst_interp.questions.patching.measure import Effect, history_map


def patching(
    pair: Histories,
    site: str,
    twin: str = "value",
    direction: Direction = "denoise",
    axis: Axis = "position",
    trials: int = 512,
    effect: Effect = "raw",
) -> xr.DataArray:
    """Mean patching effects of both histories and their difference (below − above).

    Dims (history, layer[, head], pos|role) with history = below, above, difference; for the `query` twin, whose
    two logits are reported apart, (history, answer, layer[, head], pos|role). Raw effects in logits; normalised
    ones as shares of the mean difference between donor and base run, NaN where that may be 0 (`attrs["reason"]`).
    `attrs["whole"]` holds each history's mean difference of the margin, donor − base, in logits.

    Args:
        site: `resid_pre`, `result`, `mlp_out`, or `pattern`.
        twin: what the corrupted prompt changes: `value`, `rename`, or `query`.
        direction: `denoise` (clean into corrupted) or `noise`.
        axis: absolute `position`, or `role`.
        trials: conflict trials, from the same stream as the pair's own.
        effect: `raw` or `normalised`.
    """
    models = (pair.data.below, pair.data.above)
    twins = twin_trials(pair.below.task, twin, trials, pair.seed)
    maps = [history_map(model, twins, site, direction, axis, effect) for model in models]
    joined = xr.concat([*maps, maps[0] - maps[1]], dim="history", combine_attrs="override")
    reasons = [f"{branch}: {branch_map.attrs['reason']}" for branch, branch_map in zip(BRANCHES, maps, strict=True)]
    attrs = maps[0].attrs | {"reason": "; ".join(r for r in reasons if not r.endswith(": "))}
    attrs["whole"] = [whole for branch_map in maps for whole in branch_map.attrs["whole"]]
    return joined.assign_coords(history=[*BRANCHES, "difference"]).assign_attrs(attrs)


def role_maps(
    pair: Histories, site: str, twins: Sequence[str] = ("value", "rename"), trials: int = 512
) -> list[list[xr.Dataset]]:
    """Effects per trial on the role axis: for each history a Dataset a twin. Kept for the methods below."""

    def measure() -> list[list[xr.Dataset]]:
        sources = [twin_trials(pair.below.task, twin, trials, pair.seed) for twin in twins]
        networks = (pair.data.below, pair.data.above)
        return [[patching_map(network, source, site) for source in sources] for network in networks]

    return pair.kept(("role maps", site, tuple(twins), trials), measure)
