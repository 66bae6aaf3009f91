"""Pair: two checkpoints side by side, for notebooks and the command line.

    pair = hi.pair("checkpoints/seed-0/order-0/below", "checkpoints/seed-0/order-0/above")

A pair is checked when it is made (manifests first, then the weights' hashes); networks and trials are built when they
are first needed, and maps that several methods use are kept. Every method is one call down, into `comparison/` or
`interventions/`; nothing is computed here that those rooms define. Numbers over the trials of one pair speak of these
two networks only.
"""

from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Literal

import numpy as np
import xarray as xr

from hyst_interp.comparison import attenuation as replacement
from hyst_interp.comparison import exploration as looking
from hyst_interp.comparison import gap as gaps
from hyst_interp.comparison import topology
from hyst_interp.comparison.pair_data import PairData, evaluation_trials, mean_inputs
from hyst_interp.config.study import AttenuationConfig
from hyst_interp.errors import UserError
from hyst_interp.history.schedule import BRANCHES
from hyst_interp.interventions.patching import Axis, Direction, patching_map
from hyst_interp.interventions.sweep import sweep
from hyst_interp.model.hooked import Hooked
from hyst_interp.sites import REFERENCES, SITES
from hyst_interp.statistics import Estimate, over_trials
from hyst_interp.storage.checkpoint import Checkpoint, load
from hyst_interp.storage.manifest import describe, read_manifest, refuse_unlike
from hyst_interp.streams import Stream
from hyst_interp.tasks.recall import task_of
from hyst_interp.tasks.trials import Trials
from hyst_interp.tasks.twins import TWINS

Effect = Literal["raw", "normalised"]
EFFECTS = ("raw", "normalised")
AXES = ("position", "role")
DIRECTIONS = ("denoise", "noise")
ANSWERS = ("contextual", "fixed")


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


class Pair:
    """Two verified checkpoints, and everything that can be asked of them; make one with `pair(below, above)`."""

    def __init__(
        self, below: Checkpoint, above: Checkpoint, trials: int, seed: int | None, anchor: Checkpoint | None
    ) -> None:
        self.below, self.above, self.anchor = below, above, anchor
        self.n_trials, self.seed = trials, seed
        self._kept: dict[tuple, list[list[xr.Dataset]]] = {}

    def __repr__(self) -> str:
        sides = " | ".join(describe(one.manifest) for one in (self.below, self.above))
        return f"Pair({sides}; {self.n_trials} conflict trials; {self._known_gap()})"

    def _repr_html_(self) -> str:
        """Both checkpoints beside each other; the gap only where it was asked for before, for no network runs here."""
        below, above = self.below.facts(), self.above.facts()
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            + "".join(f'<td style="text-align:left">{escape(side.get(name, "–"))}</td>' for side in (below, above))
            + "</tr>"
            for name in dict.fromkeys([*below, *above])
        )
        head = "<tr><th></th><th>from below</th><th>from above</th></tr>"
        told = f"{self.n_trials:,} conflict trials; {self._known_gap()}"
        return f"<div><b>Pair</b> {escape(told)}<table>{head}{rows}</table></div>"

    def _known_gap(self) -> str:
        if "_margins" not in vars(self):
            return "gap not measured yet"
        return f"gap {self.gap().text()} logits"

    @cached_property
    def data(self) -> PairData:
        """Both networks, the trials, and the inputs behind means: what `comparison/` works on."""
        setup = self.below.manifest.setup
        return PairData(
            self.below.model(),
            self.above.model(),
            evaluation_trials(setup, self.n_trials, self.seed),
            mean_inputs(setup, AttenuationConfig().means_trials, self.seed),  # type: ignore[call-arg]
            None if self.anchor is None else self.anchor.model(),
        )

    @cached_property
    def _margins(self) -> xr.Dataset:
        return gaps.pair_behaviour(self.data)

    def margins(self) -> xr.Dataset:
        """Margins, their split, and probabilities, dims (branch, trial), in logits and probabilities."""
        return self._margins.copy()

    def gap(self) -> Estimate:
        """Mean margin(from below) − mean margin(from above) in logits, with an interval over trials."""
        return over_trials(gaps.gap(self._margins).values, "logits")

    def mean_margins(self) -> dict[str, Estimate]:
        """Mean margin of each history in logits, with an interval over trials."""
        margins = self._margins["margin"].astype("float64")
        return {branch: over_trials(margins.sel(branch=branch).values, "logits") for branch in BRANCHES}

    def by_stratum(self) -> dict[str, Estimate]:
        """The gap within each stratum of the prompt (fixed answer present or absent, contextual answer repeated)."""
        return gaps.by_stratum(self._margins, self.data.trials)

    def by_key(self) -> xr.DataArray:
        """Mean gap in logits for every queried key, dim `key`."""
        return gaps.by_key(self._margins)

    def attenuation(
        self, components: str = "each,heads,mlps,all", references: Sequence[str] | None = None, positions: str = "query"
    ) -> "Rows":
        """What replacing components does to the gap: one row a set and reference, every number an Estimate.

        Args:
            components: sets separated by commas (`each`, `heads`, `mlps`, `all`, `L0H1+L1MLP`).
            references: what they are replaced by; by default own-mean, pooled-mean, donor, and anchor-mean where the
                pair has its anchor.
            positions: `query`, or `all` positions.

        Raises:
            UserError: an unknown component, reference, or positions; anchor-mean without an anchor.
        """
        return Rows(replacement.row_estimates(self.replaced(components, references, positions)))

    def replaced(
        self, components: str = "each,heads,mlps,all", references: Sequence[str] | None = None, positions: str = "query"
    ) -> xr.Dataset:
        """The arrays behind `attenuation`, per trial: margins and answer mass before and after every replacement."""
        if references is None:
            references = [name for name in REFERENCES if name != "anchor-mean" or self.anchor is not None]
        for name in references:
            _refuse_unknown("reference", name, REFERENCES)
        _refuse_unknown("positions", positions, ("query", "all"))
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
        twins = _twins(self.below, twin, trials, self.seed)
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
        key = (site, tuple(twins), trials)
        if key not in self._kept:
            sources = [_twins(self.below, twin, trials, self.seed) for twin in twins]
            self._kept[key] = [
                [patching_map(model, source, site) for source in sources]
                for model in (self.data.below, self.data.above)
            ]
        return self._kept[key]

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
        return found.assign_attrs({side: f"{describe(one)}, weights {one.weights[:12]}" for side, one in sides})

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


class Rows(list):
    """Rows of an attenuation, a dictionary each, that print as lines."""

    def __repr__(self) -> str:
        lines = [f"{'reference':12} {'components':12} {'logits moved':30} {'share of the gap':30} answer mass"]
        for row in self:
            moved, share = row["logits_moved"].text(), row["attenuation"].text()
            mass = row["answer_mass"].estimate
            lines.append(f"{row['reference']:12} {row['components']:12} {moved:30} {share:30} {mass:.2f}")
        return "\n".join(lines)


def history_map(
    model: Hooked,
    trials: Trials,
    site: str,
    direction: Direction = "denoise",
    axis: Axis = "position",
    effect: str = "raw",
) -> xr.DataArray:
    """Mean patching effects of one network on trials with a twin (see `Pair.patching`); UserError for unknown names."""
    for name, value, allowed in (
        ("site", site, SITES),
        ("direction", direction, DIRECTIONS),
        ("axis", axis, AXES),
        ("effect", effect, EFFECTS),
    ):
        _refuse_unknown(name, value, allowed)
    found = patching_map(model, trials, site, direction, axis)
    wholes = {"margin": (found["donor"] - found["base"]).values.astype(np.float64)}
    names = {"margin": "effect"}
    if trials.twin == "query":
        names = {f"{answer}_logit": f"{answer}_effect" for answer in ANSWERS}
        wholes |= _whole_logits(model, trials, list(names), direction)
    parts, reasons = [], []
    for quantity, name in names.items():
        part = found[name].astype("float64").mean("trial")
        if effect == "normalised":
            whole = over_trials(wholes[quantity], "logits")
            known = whole.estimate if whole.excludes(0) else None
            part = part * np.nan if known is None else part / known
            if known is None:
                reasons.append(
                    f"the whole difference of the {quantity.replace('_', ' ')} may be 0: {whole.text()} logits"
                )
        parts.append(part)
    result = xr.concat(parts, dim="answer").assign_coords(answer=list(ANSWERS)) if len(parts) > 1 else parts[0]
    unit = "logits" if effect == "raw" else "share of the difference"
    attrs = {**found.attrs, "effect": effect, "trials": len(trials), "units": unit, "reason": "; ".join(reasons)}
    return result.rename("effect").assign_attrs(attrs, whole=[float(wholes["margin"].mean())])


def _whole_logits(model: Hooked, trials: Trials, names: list[str], direction: Direction) -> dict[str, np.ndarray]:
    """Per trial, donor − base of the named logits: what a patch of everything would do to them."""
    clean, corrupted = (sweep(model, trials, [()], corrupted=side) for side in (False, True))
    donor, base = (clean, corrupted) if direction == "denoise" else (corrupted, clean)
    return {name: (donor[name] - base[name])[0].astype(np.float64) for name in names}


def checkpoint_map(
    checkpoint: Checkpoint,
    site: str,
    twin: str = "value",
    direction: Direction = "denoise",
    axis: Axis = "position",
    trials: int = 512,
    effect: Effect = "raw",
    seed: int | None = None,
) -> xr.DataArray:
    """`Pair.patching` for one checkpoint alone: a leading dim `history` with one entry, its branch or `anchor`."""
    found = history_map(checkpoint.model(), _twins(checkpoint, twin, trials, seed), site, direction, axis, effect)
    return found.expand_dims(history=[checkpoint.provenance.branch or "anchor"]).assign_attrs(found.attrs)


def _twins(checkpoint: Checkpoint, twin: str, trials: int, seed: int | None) -> Trials:
    _refuse_unknown("twin", twin, tuple(TWINS))
    if trials < 2:
        raise UserError(f"trials is {trials}; use at least 2.")
    setup = checkpoint.manifest.setup
    return task_of(setup).twin(evaluation_trials(setup, trials, seed), twin)


def _refuse_unknown(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UserError(f"{name} '{value}' does not exist; use one of {', '.join(allowed)}.")
