"""The only source of randomness: counter-based streams named by (role, seed, data order).

A stream is a Philox key derived by hashing its name, so streams of different names are disjoint for all practical
purposes and none depends on how much another has drawn. `generator(index)` starts at a counter of its own, so batch
i is a pure function of (stream, i). Neither numpy's nor torch's global generator is read or written anywhere.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

ROLES = (
    "initialisation",
    "permutation",
    "anchor",
    "convergence",
    "excursion",
    "hold",
    "calibration",
    "evaluation",
    "means",
    "resampling",
)
"""Purposes that draw random numbers; a new purpose is a new name, never a reuse."""


@dataclass(frozen=True)
class Stream:
    """A named stream of random numbers; equal names give equal numbers on every machine."""

    role: str
    seed: int
    order: int | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"stream role '{self.role}' does not exist; use one of {', '.join(ROLES)}")
        if self.seed < 0:
            raise ValueError(f"stream seed is {self.seed}; use 0 or more")

    @property
    def name(self) -> str:
        """The text that is hashed into the key."""
        order = "" if self.order is None else f"/order-{self.order}"
        return f"hyst-interp/1/{self.role}/seed-{self.seed}{order}"

    def key(self) -> int:
        """The 128-bit Philox key."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:16], "little")

    def generator(self, index: int = 0) -> np.random.Generator:
        """A numpy Generator at counter block `index`: blocks of one stream never overlap (2^192 draws apart)."""
        return np.random.Generator(np.random.Philox(key=self.key(), counter=[0, 0, 0, index]))
