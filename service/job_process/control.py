"""Control a process by the system: its priority, and its end with its parent or for lack of memory."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

_PR_SET_PDEATHSIG = 1

HANGUP = "SIGHUP is ignored: settings are read at the start; end this process and start another to change them"


def renice(pid: int, nice: int) -> None:
    """Give a process this niceness; the threads that it starts later inherit it.

    The worker does it to a process that has just begun, for even its imports take long enough to be felt beside it.
    The scheduler's class for idle work was tried and is not used.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)


def prefer_as_oom_victim() -> None:
    """Have the kernel kill this process before any other when memory runs out."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def end_with_parent(number: int) -> None:
    """Have the kernel send this process a signal when the one that started it ends, however that does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def ignore_hangup(log: logging.Logger) -> None:
    """Have SIGHUP, which ends a process, write a line and do nothing else: no setting is read again while it runs.

    A thread writes the line: a handler that interrupts the writing of another line cannot write, and the line is lost.
    The handler only puts into a queue, which may interrupt itself; to start a thread it would need locks that the code
    which it interrupts may hold, a handler of the signal before above all.
    """
    heard = SimpleQueue[int]()

    def write() -> None:
        while True:
            heard.get()
            log.warning(HANGUP)

    threading.Thread(target=write, name="tokd-hangup", daemon=True).start()
    signal.signal(signal.SIGHUP, lambda number, _: heard.put(number))
