"""What ties a process that trains to its worker: two pipes, a time at which it ends by itself, the lowest priority.

The worker says until when the job is its own (``until SECONDS``, by the clock that all processes of a host share) and,
once, that the artifact may be put into place (``go``). When the pipe ends, or that time comes, another may have the
job, and the process ends at once. It answers in lines of JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_LINE_BYTES = 4096
_PROGRESS_SECONDS = 0.2


class Leash:
    """The end of the pipe that the worker holds, watched by a thread of its own."""

    def __init__(self, descriptor: int, until: float) -> None:
        self._descriptor = descriptor
        self._until = until
        self._may_publish = threading.Event()
        threading.Thread(target=self._watch, name="leash", daemon=True).start()

    def wait_to_publish(self) -> None:
        """Wait until the worker says so; if it never does, this process ends here."""
        self._may_publish.wait()

    def _watch(self) -> None:
        rest = b""
        while (left := self._until - time.monotonic()) > 0:
            if not select.select([self._descriptor], [], [], left)[0]:
                continue
            data = os.read(self._descriptor, _LINE_BYTES)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line == b"go":
                    self._may_publish.set()
                else:
                    self._until = float(line.removeprefix(b"until "))
        os.kill(os.getpid(), signal.SIGKILL)


class Teller:
    """The other pipe: what the worker is told."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._told = 0.0

    def tell(self, **message: Any) -> None:
        """Write one line."""
        data = json.dumps(message).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]

    def phase(self, phase: str) -> None:
        """Say that a phase begins."""
        self.tell(phase=phase)

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """Say how far the phase is, a few times a second."""
        now = time.monotonic()
        if now - self._told >= _PROGRESS_SECONDS:
            self._told = now
            self.tell(progress={"done": done, "total": total, "unit": unit})


def renice(pid: int, nice: int) -> None:
    """Give a process this niceness; its threads are born with it.

    The worker does it to a process that has just begun: to load what trains takes long enough to be felt beside it.
    The scheduler's class for idle work was tried and is not used: see "Beside serving" in ``docs/jobs.md``.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)


def bow_to_others() -> None:
    """Be the first to go when memory is short, and end with the worker."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    end_with_the_parent(signal.SIGKILL)


def end_with_the_parent(number: int) -> None:
    """Have the kernel send this process a signal when the one that started it ends, however that does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
