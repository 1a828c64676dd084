"""Bounds on connections: how many there are, and how long each may wait for its caller."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Callable
from typing import Literal

HEAD_SECONDS = 30.0
"""Time for a head to arrive, from its first byte or from the start of the connection."""

READ_SECONDS = 30.0
"""Time in which a caller must read some of an answer that waits, or send a body that is dropped."""

END_SECONDS = 28
"""Time for the requests at hand when the server ends."""

LAST_SECONDS = 0.5
"""Time in which a connection that is quiet when the server ends may bring a request: one that is on its way would be
lost, and its caller could not know whether it was worked on."""

KEPT_DESCRIPTORS = 64
"""File descriptors that connections leave to artifacts, jobs and uploads."""


def most_connections(descriptors: int) -> int:
    """Return how many connections a process may have that may open so many files."""
    if descriptors == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(descriptors - KEPT_DESCRIPTORS, descriptors // 2)


MAX_CONNECTIONS = most_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0])

Awaited = Literal["head", "drop", "read", "last", "end", "idle"]
"""A head; a body that is dropped; that an answer is read; a request as the server ends; the end; the next request."""


class Timers:
    """The timers of one connection, most of which abort it.

    Args:
        keep_alive_seconds: how long no request may come between two.
    """

    def __init__(self, abort: Callable[[], None], keep_alive_seconds: float) -> None:
        self._abort, self.keep_alive_seconds = abort, keep_alive_seconds
        self._loop = asyncio.get_running_loop()
        self._running: dict[Awaited, asyncio.TimerHandle] = {}
        self._quiet_since: float | None = None

    def __contains__(self, name: Awaited) -> bool:
        return name in self._running

    def start(self, name: Awaited, seconds: float, then: Callable[[], None] | None = None) -> None:
        """Call ``then``, or end the connection, unless the timer is stopped before."""
        self.stop(name)
        self._running[name] = self._loop.call_later(seconds, then or self._abort)

    def stop(self, name: Awaited) -> None:
        """Stop a timer, if it runs."""
        timer = self._running.pop(name, None)
        if timer is not None:
            timer.cancel()

    def stop_all(self) -> None:
        """Stop all timers."""
        for timer in self._running.values():
            timer.cancel()

    def begin_quiet(self) -> None:
        """Watch how long no request begins; the rest of an unread body begins none."""
        self._quiet_since = self._loop.time()
        # The timer stays: to make and to cancel one for each request costs as much as to parse its head.
        if "idle" not in self._running:
            self.start("idle", self.keep_alive_seconds, self.end_if_quiet)

    def end_quiet(self) -> None:
        """Take note that a request has begun."""
        self._quiet_since = None

    def end_if_quiet(self) -> None:
        """End a quiet connection at once: one whose caller does not read its answer would never close by itself."""
        self.stop("idle")
        if self._quiet_since is not None:
            left = self._quiet_since + self.keep_alive_seconds - self._loop.time()
            if left > 0:
                self.start("idle", left, self.end_if_quiet)
            else:
                self._abort()
