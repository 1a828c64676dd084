"""Have glibc's allocator give back what large requests took; elsewhere nothing is done."""

from __future__ import annotations

import asyncio
import ctypes
import sys

from tokenizer_core import keep_outputs

_MALLOPT = {-8: 2, -3: 512 << 10, -1: 1 << 20}
"""M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD."""

LARGE_BYTES = 8 << 20
"""From so many bytes on, held by requests at once, it is worth trimming what they leave."""

TRIM_SECONDS = 1.0
"""The shortest time between two trims, each of which takes milliseconds."""

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def give_back_large() -> None:
    """Let large blocks go back once they are freed; by default they are kept, an arena a thread, and by the kernel."""
    keep_outputs(0)
    mallopt = getattr(_libc, "mallopt", None)
    if mallopt is not None:
        for parameter, value in _MALLOPT.items():
            mallopt(parameter, value)


def _trim() -> None:
    malloc_trim = getattr(_libc, "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


class Trimmer:
    """Gives back the pages that many bodies at once left between those that are still in use."""

    def __init__(self) -> None:
        self._is_due = False

    def releases(self, held: int) -> None:
        """Note that some of ``held`` bytes are about to be released; called on the event loop."""
        if held >= LARGE_BYTES and not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(TRIM_SECONDS, self._begin)

    def _begin(self) -> None:
        self._is_due = False
        asyncio.get_running_loop().run_in_executor(None, _trim)
