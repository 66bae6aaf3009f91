"""Keep freed memory in the process: an update frees some megabytes and asks for the same again a moment later.

glibc's allocator gives large freed blocks back to the system, which hands them out again page by page, zeroed. That
costs a few per cent of training and more of a large forward pass; no number changes. Elsewhere nothing is done.
"""

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""glibc's names for the two settings (malloc.h)."""
BLOCK, KEPT = 32 * 2**20, 256 * 2**20
"""Blocks up to the first size come from memory that is kept, up to the second."""


def keep_freed_memory() -> bool:
    """Tell the allocator of this process; whether it took it."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        tell = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(tell(MMAP_THRESHOLD, BLOCK)) and bool(tell(TRIM_THRESHOLD, KEPT))
