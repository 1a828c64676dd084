"""The budget of one rendering: work, time and nesting, charged by every operation that makes text or values grow."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from tokenizer_core.errors import TemplateLimit
from tokenizer_core.template import turn

BASE_WORK = 4_000_000
WORK_PER_CHARACTER = 64
"""Templates look at every message a few times, and a few of them at all messages for each."""

LONG = 1 << 20
"""Characters of a chat from which on each allows less: no model takes more messages than fit into so many."""

WORK_PER_LATER_CHARACTER = 20
"""Of forty real templates all take less for a character of a long text, but for one that takes 30 for arguments. With
64, 32 MiB of emoji allowed a rendering of 2 GB."""

BASE_SECONDS = 1.0
SECONDS_PER_CHARACTER = 1e-6

CHAT_WORK = 2_000_000
CHAT_SECONDS = 0.01
"""What each chat of a request may need beside its characters, for what all of them are rendered with. Of forty real
templates each takes less than a tenth of this work for ten tools, and half of them a twentieth of the time without. A
document of 100,000 characters takes a quarter of the work, and 2 ms."""

MANY_CHATS = 500
LATER_CHAT_WORK = 50_000
LATER_CHAT_SECONDS = 0.001
"""What each chat behind so many brings: enough for short ones without tools. They come to 30 bytes of a request, and
with 10 ms for each half a megabyte would be allowed minutes."""

LOOK_SECONDS = 0.002
"""Seconds between two looks of a rendering whether others wait for their turn."""

MAX_NUMBER_BITS = 1024

OBJECT = 32
"""Units for a call, a filter or a text that is made, however short: what stays of it takes memory."""

PIECE = 64
"""Units for each of many texts that are made at once: one of a caller's takes some 250 bytes."""

_TOGETHER = ", as do those before it in this request; send fewer chats at once"

ESCAPED = 10
"""The most characters that Python writes for one that it escapes."""


class Budget:
    """The shared budget of the renderings of one request.

    Args:
        size: the characters of what its chats share.

    Attributes:
        work, seconds: what is left.
        chats: how many chats there were.
    """

    def __init__(self, size: int) -> None:
        self.chats = 0
        self.work, self.seconds = BASE_WORK + _work(size), BASE_SECONDS + SECONDS_PER_CHARACTER * size

    def grow(self, size: int) -> None:
        """Allow what one more chat, of ``size`` characters, may need."""
        self.chats += 1
        is_later = self.chats > MANY_CHATS
        self.work += (LATER_CHAT_WORK if is_later else CHAT_WORK) + _work(size)
        self.seconds += (LATER_CHAT_SECONDS if is_later else CHAT_SECONDS) + SECONDS_PER_CHARACTER * size


def _work(size: int) -> int:
    later = max(size - LONG, 0)
    return WORK_PER_CHARACTER * (size - later) + WORK_PER_LATER_CHARACTER * later


class Meter:
    """Count the work of one rendering; a character made or an item looped over is one unit at least.

    Nothing takes much more than four bytes for each unit that it is charged, which is what a wide character takes.
    """

    def __init__(self, size: int, budget: Budget | None = None) -> None:
        """Allow what a chat of ``size`` characters may need, but no more than is left in a budget."""
        self._budget = budget
        self._began = time.thread_time()
        self.work, seconds = BASE_WORK + _work(size), BASE_SECONDS + SECONDS_PER_CHARACTER * size
        if budget is not None:
            self.work, seconds = min(self.work, budget.work), min(seconds, budget.seconds)
        self._given, self._end = self.work, self._began + seconds
        self._turn = turn.current()
        self._next_look = time.monotonic() + (min(BASE_SECONDS, seconds) if self._turn is None else LOOK_SECONDS)
        self.now = datetime.now()
        self._weights: dict[int, tuple[int, Any]] = {}
        self.taken_out: dict[int, set[str]] = {}

    def charge(self, units: int) -> None:
        """Take ``units`` off what is left, before the work is done.

        Raises:
            TemplateLimit
        """
        # A number of the caller would make every later one the caller's, and slow.
        self.work -= int(units)
        if self.work < 0:
            raise self._limit("makes more text or takes more steps than a chat can need")
        if time.monotonic() > self._next_look:
            self._look()

    def _look(self) -> None:
        # The thread's own time counts, since others may have the processor; asking for it costs a system call.
        left = self._end - time.thread_time()
        if left <= 0:
            raise self._limit("takes too long on these messages")
        if self._turn is not None:
            self._turn.pause()
            left = min(left, LOOK_SECONDS)
        self._next_look = time.monotonic() + left

    def settle(self) -> None:
        """Take what was used from the budget."""
        if self._budget is not None:
            self._budget.work -= self._given - self.work
            self._budget.seconds -= time.thread_time() - self._began

    def _limit(self, what: str) -> TemplateLimit:
        together = self._budget is not None and self._budget.chats > 1
        return TemplateLimit(f"the chat template {what}{_TOGETHER if together else ''}")

    def weigh(self, value: Any) -> int:
        """Return how long the value is when everything in it is written out, however often a part of it is shared.

        Each container is walked once, when it is made; its parts are known by then, so nesting cannot hide growth.
        """
        if isinstance(value, str):
            return len(value)
        if not isinstance(value, (list, tuple, dict)):
            return 1
        known = self._weights.get(id(value))
        if known is not None:
            return known[0]
        self.charge(PIECE + (OBJECT if isinstance(value, dict) else 2) * len(value))
        parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        weight = 1 + sum(1 + self.weigh(part) for part in parts)
        if weight > max(self.work, 0):
            raise TemplateLimit("the chat template nests more values than a chat can need")
        # The value is kept with its weight, or another could get its identity.
        self._weights[id(value)] = (weight, value)
        return weight


class _Current(threading.local):
    meter: Meter | None = None


_CURRENT = _Current()


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Count what this thread renders."""
    _CURRENT.meter = meter
    try:
        yield
    finally:
        _CURRENT.meter = None
        meter.settle()


def charge(units: int) -> None:
    """Charge the rendering of this thread, if there is one."""
    meter = _CURRENT.meter
    if meter is not None:
        meter.charge(units)


def weigh(value: Any) -> Any:
    """Note a value that the template made, and return it."""
    meter = _CURRENT.meter
    if meter is not None and isinstance(value, (list, tuple, dict)):
        meter.weigh(value)
    return value


def charge_weight(value: Any) -> None:
    """Charge for writing a container out."""
    meter = _CURRENT.meter
    if meter is not None and isinstance(value, (list, tuple, dict)):
        meter.charge(meter.weigh(value))


def weight_of(value: Any) -> int:
    """Return how long a value is when it is written out, before anything is escaped."""
    meter = _CURRENT.meter
    return 0 if meter is None else meter.weigh(value)


def now() -> datetime:
    """Return the time of this rendering, the same however often it is asked for."""
    meter = _CURRENT.meter
    return datetime.now() if meter is None else meter.now


def taken_out() -> dict[int, set[str]]:
    """Return what this rendering took out of the caller's texts, by the number of the field."""
    meter = _CURRENT.meter
    return {} if meter is None else meter.taken_out


def size_of(values: Any) -> int:
    """Add up the lengths of the values that have one."""
    return sum(len(value) for value in values if isinstance(value, Sized))
