"""What keeps training repeatable: one torch thread on the CPU, deterministic full-precision kernels on a GPU.

With two threads, even two runs of the same process differ in bits. On a GPU it is atomic additions and TF32 that a run
must not depend on.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Sets one intra-op thread and restores the caller's number, also on error."""
    before = torch.get_num_threads()
    if before != 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if before != 1:
            torch.set_num_threads(before)


@contextmanager
def repeatable(device: torch.device | str) -> Iterator[None]:
    """`one_thread`, and off the CPU torch's deterministic kernels in full float32; restores what it found.

    Where torch has no deterministic kernel it warns, and goes on.
    """
    with one_thread():
        if torch.device(device).type == "cpu":
            yield
            return
        precision = torch.get_float32_matmul_precision()
        deterministic = torch.are_deterministic_algorithms_enabled()
        warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
        torch.set_float32_matmul_precision("highest")
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
            torch.set_float32_matmul_precision(precision)
