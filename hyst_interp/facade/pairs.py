"""Pair: what can be asked of two histories, beside where the difference is.

A pair is checked when it is made (manifests first, then the weights' hashes), and maps that several methods use are
kept.
"""

from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from hyst_interp.analysis.pair_data import evaluation_trials
from hyst_interp.analysis.rows import Column, Rows
from hyst_interp.errors import UserError
from hyst_interp.explorer import explorer_data as looking
from hyst_interp.facade.located import Located
from hyst_interp.facade.routed import Routed
from hyst_interp.history.schedule import BRANCHES
from hyst_interp.interventions.patching import Axis, Direction, patching_map
from hyst_interp.questions.attenuation import measure as replacement
from hyst_interp.questions.patching.measure import Effect, history_map, refuse_unknown, twin_trials
from hyst_interp.questions.similarity import measure as topology
from hyst_interp.sites import REFERENCES
from hyst_interp.storage.checkpoint import load
from hyst_interp.storage.manifest import describe, read_manifest, refuse_unlike
from hyst_interp.streams import Stream

REPLACED = (
    Column("reference", "reference"),
    Column("components", "components"),
    Column("logits_moved", "logits moved"),
    Column("attenuation", "share of the gap"),
    Column("answer_mass", "answer mass", lambda mass: f"{mass.estimate:.2f}"),
)
"""Columns of an attenuation."""


def pair(
    below: str | Path,
    above: str | Path,
    trials: int = 2048,
    seed: int | None = None,
    anchor: str | Path | None = None,
) -> "Pair":
    """The pair of two checkpoints' paths, from below first.

    Args:
        below, above: checkpoint directories of one seed; a branch directory stands for its hold-000.
        trials: conflict trials that gap and attenuation are measured on, at least 2.
        seed: evaluation stream of the trials; by default the training seed's own.
        anchor: the common ancestor's checkpoint, needed by the reference `anchor-mean`.

    Raises:
        UserError: a path that is no whole checkpoint, two that cannot be compared, or the wrong order.
    """
    if trials < 2:
        raise UserError(f"trials is {trials}; use at least 2.")
    if seed is not None and seed < 0:
        raise UserError(f"seed is {seed}; use 0 or more.")
    first, second = read_manifest(below)[1], read_manifest(above)[1]
    refuse_unlike(first, second)
    if anchor is not None:
        refuse_unlike(first, read_manifest(anchor)[1], ordered=False)
    return Pair(load(below), load(above), trials, seed, None if anchor is None else load(anchor))


class Pair(Located, Routed):
    """Two verified checkpoints, and everything that can be asked of them; make one with `pair(below, above)`."""

    def attenuation(
        self, components: str = "each,heads,mlps,all", references: Sequence[str] | None = None, positions: str = "query"
    ) -> Rows:
        """What replacing components does to the gap: one row a set and reference, every number an Estimate.

        Args:
            components: sets separated by commas (`each`, `heads`, `mlps`, `all`, `L0H1+L1MLP`).
            references: what they are replaced by; by default own-mean, pooled-mean, donor, and anchor-mean where the
                pair has its anchor.
            positions: `query`, or `all` positions.

        Raises:
            UserError: an unknown component, reference, or positions; anchor-mean without an anchor.
        """
        found = self.replaced(components, references, positions)
        return Rows(replacement.row_estimates(found), REPLACED, found)

    def replaced(
        self, components: str = "each,heads,mlps,all", references: Sequence[str] | None = None, positions: str = "query"
    ) -> xr.Dataset:
        """The arrays behind `attenuation`, per trial: margins and answer mass before and after every replacement."""
        if references is None:
            references = [name for name in REFERENCES if name != "anchor-mean" or self.anchor is not None]
        for name in references:
            refuse_unknown("reference", name, REFERENCES)
        refuse_unknown("positions", positions, ("query", "all"))
        sets = self.data.sets(components)
        return replacement.attenuation(self.data, {name: sets for name in references}, positions)

    def patching(
        self,
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
        models = (self.data.below, self.data.above)
        twins = twin_trials(self.below, twin, trials, self.seed)
        maps = [history_map(model, twins, site, direction, axis, effect) for model in models]
        joined = xr.concat([*maps, maps[0] - maps[1]], dim="history", combine_attrs="override")
        reasons = [f"{branch}: {one.attrs['reason']}" for branch, one in zip(BRANCHES, maps, strict=True)]
        attrs = maps[0].attrs | {"reason": "; ".join(r for r in reasons if not r.endswith(": "))}
        attrs["whole"] = [whole for one in maps for whole in one.attrs["whole"]]
        return joined.assign_coords(history=[*BRANCHES, "difference"]).assign_attrs(attrs)

    def role_maps(
        self, site: str, twins: Sequence[str] = ("value", "rename"), trials: int = 512
    ) -> list[list[xr.Dataset]]:
        """Effects per trial on the role axis: for each history a Dataset a twin. Kept for the methods below."""
        models = (self.data.below, self.data.above)

        def measure() -> list[list[xr.Dataset]]:
            sources = [twin_trials(self.below, twin, trials, self.seed) for twin in twins]
            return [[patching_map(model, source, site) for source in sources] for model in models]

        return self._kept.get(("role maps", site, tuple(twins), trials, self.seed), measure)

    def exploration(self, trials: int = 12) -> xr.Dataset:
        """Both histories head by head: attention patterns and logits on a few trials, and QK and OV circuits.

        Dims and variables are those of `comparison.exploration`; `figures.explorer_page` makes a page with menus of
        it, `figures.head_maps` one picture. The trials are the first of the pair's own stream.
        """
        if trials < 1:
            raise UserError(f"trials is {trials}; use at least 1.")
        found = looking.exploration(
            self.data.below,
            self.data.above,
            evaluation_trials(self.below.manifest.setup, trials, self.seed),
            self.below.task.permutation,
        )
        sides = zip(BRANCHES, (self.below.manifest, self.above.manifest), strict=True)
        changed = {side: "" if self._as_loaded(side) else ", changed since" for side in BRANCHES}
        return found.assign_attrs(
            {side: f"{describe(one)}, weights {one.weights[:12]}{changed[side]}" for side, one in sides}
        )

    def similarity(
        self, site: str = "resid_pre", twins: Sequence[str] = ("value", "rename"), trials: int = 512
    ) -> topology.Similarity:
        """How alike the two histories' maps of a site are, over roles, the twins' maps joined."""
        below, above = self.role_maps(site, twins, trials)
        return topology.similarity([topology.mean_map(m) for m in below], [topology.mean_map(m) for m in above])

    def dominant_head(self, twins: Sequence[str] = ("value", "rename"), trials: int = 512) -> topology.DominantHead:
        """The head that matters most in each history, with its stability under resampling of trials."""
        below, above = self.role_maps("result", twins, trials)
        return topology.dominant_head(below, above, Stream("resampling", self.below.manifest.setup.seed))

    def gain(
        self, site: str = "resid_pre", twins: Sequence[str] = ("value", "rename"), trials: int = 512
    ) -> dict[str, dict[str, float | None]]:
        """Engagement, a twin at a time: slope of the raw map from above on that from below, and the ratio of wholes."""
        below, above = self.role_maps(site, twins, trials)
        return {a.attrs["twin"]: topology.gain(a, b) for a, b in zip(below, above, strict=True)}
