"""Two pipes of lines between a training process and its worker.

The worker writes until when the job is its own (``until SECONDS``, by the clock that all processes of a host share),
once, that the result may be put into place (``go``), and that a process that helps is to leave after the part in work
(``leave``). When its pipe ends, or that time comes, another worker may have the job, so the process kills
itself. The process writes lines of JSON.
"""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
from typing import Any

_LINE_BYTES = 4096
_PROGRESS_SECONDS = 0.2


class Watchdog:
    """Reads what the worker writes, in a thread, and kills this process when the job is no longer the worker's.

    Args:
        descriptor: of the pipe that the worker writes to.
        until: when the job is no longer the worker's, in seconds of ``time.monotonic``.
    """

    def __init__(self, descriptor: int, until: float) -> None:
        self._descriptor = descriptor
        self._until = until
        self._may_publish = threading.Event()
        self._to_leave = threading.Event()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def wait_to_publish(self) -> None:
        """Wait until the worker allows it; if it never does, this process is killed while it waits."""
        self._may_publish.wait()

    def is_to_leave(self) -> bool:
        """Tell whether this process is wanted elsewhere."""
        return self._to_leave.is_set()

    def _watch(self) -> None:
        rest, waiting = b"", []
        # Data written meanwhile is read first: this thread may have waited for a processor, or for the start of
        # the process, beyond the time that it knows of.
        while select.select([self._descriptor], [], [], max(0.0, self._until - time.monotonic()))[0]:
            data = os.read(self._descriptor, _LINE_BYTES)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.startswith(b"until "):
                    self._until = float(line.removeprefix(b"until "))
                else:
                    waiting.append(line)
            if time.monotonic() < self._until:
                self._tell(waiting)
                waiting.clear()
        os.kill(os.getpid(), signal.SIGKILL)

    def _tell(self, lines: list[bytes]) -> None:
        for line in lines:
            (self._may_publish if line == b"go" else self._to_leave).set()


class MessageWriter:
    """Writes messages to the worker.

    Args:
        descriptor: of the pipe that the worker reads.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._last_progress = 0.0

    def send(self, **message: Any) -> None:
        """Write one message."""
        data = json.dumps(message).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]

    def phase(self, phase: str, **facts: Any) -> None:
        """Say that a phase begins."""
        self.send(phase=phase, **facts)

    def progress(self, **progress: Any) -> None:
        """Say how far the phase is, a few times a second."""
        now = time.monotonic()
        if now - self._last_progress >= _PROGRESS_SECONDS:
            self._last_progress = now
            self.send(progress=progress)
