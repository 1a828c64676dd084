"""Fair queue for template rendering: one at a time, short jobs first.

A template is Python, so two renderings at once are no faster than one after the other, and a slow one would hold up
the rest. Each has a few milliseconds; one that needs more lets those go first that have not yet used theirs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from service.admission.threads import Threads
from service.settings import Settings
from tokenizer_core import in_turns

T = TypeVar("T")

SLICE_SECONDS = 0.005
"""Rendering time of a request before others go first; a small chat takes a tenth of it."""

MOST_FIRST = 8
"""Number of short renderings in a row before a long one, which is slowed down and never stopped."""


class Scheduler:
    """Decides which request of a process renders next; used by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._fresh: deque[_Turn] = deque()
        self._long: list[_Turn] = []
        self._in_a_row = 0
        self._joined = 0

    def join(self) -> _Turn:
        """Return the turn of a new request."""
        with self._lock:
            self._joined += 1
            return _Turn(self, self._joined)

    @property
    def waits(self) -> int:
        """Number of waiting renderings."""
        return len(self._fresh) + len(self._long)

    def enter(self, turn: _Turn) -> None:
        """Wait until it is this one's turn."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            self._queue(turn)
        turn.called.acquire()

    def leave(self) -> None:
        """Call the next."""
        with self._lock:
            self._call()

    def give_way(self, turn: _Turn) -> None:
        """Let short ones go first, and wait."""
        if not self._fresh:
            return
        with self._lock:
            self._queue(turn)
            self._call()
        turn.called.acquire()

    def _queue(self, turn: _Turn) -> None:
        if turn.used < SLICE_SECONDS:
            self._fresh.append(turn)
        else:
            self._long.append(turn)

    def _call(self) -> None:
        if self._fresh and (self._in_a_row < MOST_FIRST or not self._long):
            self._in_a_row += 1
            self._fresh.popleft().called.release()
        elif self._long:
            # The oldest goes on until it is done: sharing among them would only make all of them late.
            self._in_a_row = 0
            oldest = min(self._long, key=lambda turn: turn.number)
            self._long.remove(oldest)
            oldest.called.release()
        else:
            self._taken = False


class _Turn:
    """The turn of one request, as ``tokenizer_core.Turn`` describes it.

    Attributes:
        number: the order in which requests came.
        used: seconds of rendering so far.
        called: released when it is this request's turn.
    """

    def __init__(self, scheduler: Scheduler, number: int) -> None:
        self.number = number
        self.used = 0.0
        self.called = threading.Semaphore(0)
        self._scheduler = scheduler
        self._since = 0.0

    def begin(self) -> None:
        self._scheduler.enter(self)
        self._since = monotonic()

    def pause(self) -> None:
        now = monotonic()
        if self.used + now - self._since < SLICE_SECONDS:
            return
        self.used += now - self._since
        self._scheduler.give_way(self)
        self._since = monotonic()

    def end(self) -> None:
        self.used += monotonic() - self._since
        self._scheduler.leave()


class Turns:
    """The renderings of one process: in threads beside the event loop, and in turns."""

    def __init__(self, settings: Settings) -> None:
        self.scheduler = Scheduler()
        self._threads = Threads(
            settings.max_renderings,
            max_queue=settings.max_queue,
            queue_seconds=settings.queue_seconds,
            name="tokd-render",
            what="requests with chats",
        )

    @property
    def taken(self) -> int:
        """Number of active requests with chats."""
        return self._threads.taken

    def close(self) -> None:
        """Take no more work."""
        self._threads.close()

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Run work that renders chats beside the event loop.

        Errors:
            ``saturated``
        """
        return await self._threads.run(self._in_turn, work, arguments)

    def _in_turn(self, work: Callable[..., T], arguments: tuple[object, ...]) -> T:
        with in_turns(self.scheduler.join()):
            return work(*arguments)
