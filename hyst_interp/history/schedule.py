"""Counterbalanced schedules: the same examples and the same mixtures, in opposite orders.

A schedule is a sequence of steps (p, batch id). An up-excursion U and a down-excursion D visit p0 ± t on the same
batches; from below is U·D, from above is D·U. So both branches see the same tokens and the same target draws at every
step, the multisets of (p, batch id) are equal, and at δ = 0 the branches are the same: an exact null. With
`pairing = "independent"` D has batches of its own; then exposure is equal over the schedule but not step by step.

The clock counts updates since the fork: at `position` n, n updates have been made. τ is the number of updates since the
last update at p ≠ p0, undefined (NaN) before the first.
"""

from dataclasses import dataclass
from html import escape

import numpy as np
from jaxtyping import Float, Int

from hyst_interp.config import ScheduleConfig
from hyst_interp.config.frozen import digest
from hyst_interp.config.schedule import Branch

WIDTH, HEIGHT, CORNERS = 420, 72, 400
"""Size in pixels of the picture that a schedule shows of itself, and the most levels that it draws."""


@dataclass(frozen=True)
class Schedule:
    """Mixture and batch id of every update, on the batches of one stream role."""

    p: Float[np.ndarray, " step"]
    """Mixture of every update."""
    batch: Int[np.ndarray, " step"]
    """Batch id of every update."""
    role: str
    """Role of the stream that the batches come from."""
    p0: float
    """The mixture that counts as home for τ."""

    def __len__(self) -> int:
        return len(self.p)

    def take(self, part: slice) -> "Schedule":
        """The steps of a slice."""
        return Schedule(self.p[part], self.batch[part], self.role, self.p0)

    def digest(self) -> str:
        """SHA-256 of the steps in order."""
        return digest({"role": self.role, "p": [float(p) for p in self.p], "batch": [int(b) for b in self.batch]})

    def _summary(self) -> str:
        span = f"p {self.p.min():g} … {self.p.max():g}, " if len(self) else ""
        plural = "s" if len(self) != 1 else ""
        return f"{len(self):,} update{plural} on the {self.role} stream, {span}home p0 {self.p0:g}"

    def __repr__(self) -> str:
        return f"Schedule({self._summary()}; steps {self.digest()[:12]}, exposure {exposure_digest(self)[:12]})"

    def _repr_html_(self) -> str:
        return (
            f"<div><b>Schedule</b> {escape(self._summary())}<br>{self._picture()}<br>"
            f"steps <code>{self.digest()}</code><br>exposure <code>{exposure_digest(self)}</code></div>"
        )

    def _picture(self) -> str:
        """p over updates as a small SVG, p0 dashed."""
        starts = np.flatnonzero(np.diff(self.p, prepend=np.nan) != 0)
        starts = starts[:: max(1, -(-len(starts) // CORNERS))]
        ends = [*starts[1:], len(self)]
        x = WIDTH / max(len(self), 1)
        path = " ".join(
            f"{'M' if not i else 'L'}{start * x:.1f} {_height(float(self.p[start]))} H{end * x:.1f}"
            for i, (start, end) in enumerate(zip(starts, ends, strict=False))
        )
        home = _height(self.p0)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" style="max-width:'
            f'100%"><title>mixture p from 0 (bottom) to 1 (top) over {len(self):,} updates, p0 dashed</title>'
            f'<path d="M0 {home} H{WIDTH}" stroke="#8b929b" stroke-dasharray="3 3"/>'
            f'<path d="{path}" fill="none" stroke="#5B3A8E" stroke-width="1.5"/></svg>'
        )


def tau(p: Float[np.ndarray, " step"], p0: float) -> Float[np.ndarray, " position"]:
    """τ at positions 0 … len(p): updates since the last update at p ≠ p0, NaN before the first."""
    result = np.full(len(p) + 1, np.nan)
    for step, mixture in enumerate(p):
        result[step + 1] = 0.0 if mixture != p0 else result[step] + 1
    return result


def excursion(config: ScheduleConfig, p0: float, sign: int, first_batch: int = 0) -> Schedule:
    """One excursion of 2·levels·dwell updates: up for sign +1, down for −1, the last level back at p0."""
    steps = [*range(1, config.levels + 1), *range(config.levels - 1, -1, -1)]
    mixtures = [config.mixture(p0, sign * config.delta * step / config.levels) for step in steps]
    p = np.repeat(np.array(mixtures), config.dwell)
    return Schedule(p, first_batch + np.arange(len(p)), "excursion", p0)


def paired_schedules(config: ScheduleConfig, p0: float) -> dict[Branch, Schedule]:
    """The schedules from below and from above, checked for equal exposure; ValueError for an impossible δ."""
    config.refuse_impossible(p0)
    up = excursion(config, p0, +1)
    down = excursion(config, p0, -1, first_batch=0 if config.pairing == "paired" else len(up))
    pair: dict[Branch, Schedule] = {"below": _join(up, down), "above": _join(down, up)}
    refuse_unequal(pair["below"], pair["above"])
    return pair


def hold_schedule(updates: int, p0: float) -> Schedule:
    """`updates` updates at p0 on the hold stream, the same for both branches."""
    return Schedule(np.full(updates, p0), np.arange(updates), "hold", p0)


def exposure_digest(schedule: Schedule) -> str:
    """SHA-256 of the multiset of (p, batch id): equal exactly when two branches were exposed equally."""
    steps = sorted((float(p), int(b)) for p, b in zip(schedule.p, schedule.batch, strict=True))
    return digest({"role": schedule.role, "steps": steps})


def refuse_unequal(below: Schedule, above: Schedule) -> None:
    """ValueError unless both schedules have the same number of updates, examples, and exposure to every mixture."""
    if len(below) != len(above):
        raise ValueError(f"branches have {len(below)} and {len(above)} updates; give both the same number")
    if exposure_digest(below) != exposure_digest(above):
        raise ValueError(
            "branches are exposed differently: their multisets of (mixture, batch) differ;"
            " use the same levels, dwell, and batches for both"
        )


def _join(first: Schedule, second: Schedule) -> Schedule:
    return Schedule(
        np.concatenate([first.p, second.p]), np.concatenate([first.batch, second.batch]), first.role, first.p0
    )


def _height(p: float) -> str:
    return f"{2 + (1 - p) * (HEIGHT - 4):.1f}"
