"""Make glibc's allocator return large blocks to the system; no effect elsewhere."""

from __future__ import annotations

import ctypes
import sys

_MALLOPT = {-8: 2, -3: 512 << 10, -1: 1 << 20}
"""M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD."""


def give_back_large() -> None:
    """Let large blocks go back once they are freed; by default glibc keeps them, an arena a thread."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for parameter, value in _MALLOPT.items():
            mallopt(parameter, value)
