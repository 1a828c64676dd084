"""Run work beside the event loop: a fixed number of threads, a bounded queue, and refusal beyond it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from math import inf
from time import monotonic
from typing import TypeVar

from service.admission.deadline import RETRY_AFTER, RETRY_SECONDS, too_late
from service.errors import ServiceError

T = TypeVar("T")

NICENESS = 5
"""Of threads with large work; it is the thread's own on Linux, and of no use elsewhere."""


def saturated(what: str) -> ServiceError:
    """Say that there is too much to do now, and when to come again."""
    return ServiceError(
        "saturated",
        f"{what}; try again in {RETRY_SECONDS} second",
        headers=(RETRY_AFTER,),
    )


def _give_way() -> None:
    """Let the event loop have the processor first: small requests are answered there."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


class Threads:
    """Threads for one kind of work.

    Args:
        threads: how many there are.
        max_queue, queue_seconds: how many requests may wait for one of them, and how long.
        name: of the threads.
        what: the requests, as an error calls them.
        note_wait: called with the seconds that each waited.
    """

    def __init__(
        self,
        threads: int,
        *,
        max_queue: int,
        queue_seconds: int,
        name: str,
        what: str,
        note_wait: Callable[[float], None] | None = None,
    ) -> None:
        self.taken = 0
        self._note_wait = note_wait
        self._threads, self._max_queue, self._queue_seconds, self._what = threads, max_queue, queue_seconds, what
        self._free = asyncio.Semaphore(threads)
        self._pool = ThreadPoolExecutor(threads, name, _give_way)

    def close(self) -> None:
        """Take no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def is_full(self) -> bool:
        """True if as many requests as may be are in threads or wait for one."""
        return self.taken >= self._threads + self._max_queue

    def require_room(self) -> None:
        """Refuse a request when no further one may wait.

        Errors:
            ``saturated``
        """
        if self.is_full:
            raise saturated(f"{self._max_queue} {self._what} wait for a thread")

    async def run(self, work: Callable[..., T], *arguments: object, until: float = inf) -> T:
        """Run work beside the event loop.

        Args:
            until: when an answer comes too late, on the clock ``time.monotonic``.

        Errors:
            ``saturated``: as much waits for a thread as may, or none became free in time.
            ``deadline_exceeded``: none became free until then.
        """
        self.require_room()
        self.taken += 1
        try:
            await self._wait(until)
            try:
                run = copy_context().run
                return await asyncio.get_running_loop().run_in_executor(self._pool, run, work, *arguments)
            finally:
                self._free.release()
        finally:
            self.taken -= 1

    async def _wait(self, until: float) -> None:
        began = monotonic()
        left = until - began
        if left <= 0:
            raise too_late()
        try:
            async with asyncio.timeout(min(left, self._queue_seconds)):
                await self._free.acquire()
        except TimeoutError:
            if left < self._queue_seconds:
                raise too_late() from None
            raise saturated(f"no thread became free in {self._queue_seconds} seconds") from None
        finally:
            if self._note_wait is not None:
                self._note_wait(monotonic() - began)
