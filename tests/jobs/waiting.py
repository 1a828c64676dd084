"""Waiting for what happens in other processes, with a bound that only a hang reaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 120


def until(condition: Callable[[], T]) -> T:
    """Return what a condition gives as soon as that is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a dead one that nobody waited for does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
