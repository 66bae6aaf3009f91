"""Timing in interleaved pairs: ours and a peer in turn, so that a slow minute of the machine hits both.

A *measure* says what ours took, what the peer took, their ratio as a median with its range over the pairs, the goal,
and whether both gave the same results. Where a peer can run in several ways (one thread, torch's default threads), the
better one counts, pair by pair.
"""

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

Job = Callable[[], Any]
DEFAULT_THREADS = torch.get_num_threads()


@dataclass(frozen=True)
class Measure:
    """One line of the table."""

    key: str
    what: str
    peer: str
    """Who it is compared with."""
    ours_seconds: float
    """Median over the pairs."""
    peer_seconds: float
    """Median over the pairs, of the better way to run it."""
    ratio: float
    """Median over the pairs of peer / ours."""
    low: float
    high: float
    pairs: int
    goal: float | None
    equal: bool
    difference: float
    """Largest difference of the results."""
    tolerance: float
    unit: str = "logits"
    """Unit of difference and tolerance."""
    notes: dict[str, float | str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    @property
    def met(self) -> bool | None:
        """Whether the goal is met, None without one."""
        return None if self.goal is None else self.ratio >= self.goal


def threads(number: int, job: Job) -> Job:
    """A job that runs with so many torch threads."""

    def run() -> Any:
        torch.set_num_threads(number)
        try:
            return job()
        finally:
            torch.set_num_threads(1)

    return run


def either_way(job: Job) -> dict[str, Job]:
    """A peer's job with one thread and with torch's default number of threads."""
    ways = {"one thread": threads(1, job)}
    if DEFAULT_THREADS > 1:
        ways[f"{DEFAULT_THREADS} threads"] = threads(DEFAULT_THREADS, job)
    return ways


def timed(job: Job) -> tuple[float, Any]:
    """Seconds and result of a job."""
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def compare(
    key: str,
    what: str,
    peer_name: str,
    ours: Job,
    peer: Mapping[str, Job],
    difference: Callable[[Any, Any], float],
    tolerance: float,
    goal: float | None = None,
    pairs: int = 5,
    unit: str = "logits",
) -> Measure:
    """Time `ours` against every way to run the peer, interleaved, after one untimed run of each."""
    apart = difference(ours(), next(iter(peer.values()))())
    own_times: list[float] = []
    peer_times: dict[str, list[float]] = {way: [] for way in peer}
    for index in range(pairs):
        order = [(own_times, ours), *((peer_times[way], job) for way, job in peer.items())]
        for times, job in order if index % 2 == 0 else order[::-1]:
            times.append(timed(job)[0])
    best = [min(times[index] for times in peer_times.values()) for index in range(pairs)]
    ratios = [b / a for a, b in zip(own_times, best, strict=True)]
    return Measure(
        key=key,
        what=what,
        peer=peer_name,
        ours_seconds=statistics.median(own_times),
        peer_seconds=statistics.median(best),
        ratio=statistics.median(ratios),
        low=min(ratios),
        high=max(ratios),
        pairs=pairs,
        goal=goal,
        equal=apart <= tolerance,
        difference=apart,
        tolerance=tolerance,
        unit=unit,
        notes={f"peer, {way}": statistics.median(times) for way, times in peer_times.items()},
    )


def wait_for_quiet(limit: float = 0.4, patience: float = 180.0) -> dict[str, Any]:
    """Wait until the load of the last minute is below `limit` a core; say how long it took, and whether it came."""
    cores, start = os.cpu_count() or 1, time.monotonic()
    while (load := os.getloadavg()[0] / cores) > limit and time.monotonic() - start < patience:
        time.sleep(5)
    return {"quiet": load <= limit, "load_per_core": load, "waited_seconds": round(time.monotonic() - start)}
