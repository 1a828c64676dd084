"""Bounds on bytes of bodies, concurrent requests and work in threads. Excess is refused, never queued without end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import TypeVar

from starlette.types import Receive

from service.admission.event_loop import Turn
from service.admission.threads import Threads, saturated
from service.errors import ServiceError
from service.request_log import LogEntry
from service.settings import Settings
from tokenizer_core import core_count

T = TypeVar("T")

HEAVY_BYTES = 1 << 20
"""The work charged for a small request whose work is large, such as a rendering in a thread: the bytes of text that
take as long."""

SMALL_BYTES = 8 << 10
"""Bodies up to this size are read whatever the load is. To find out that a longer one needs a thread can take
milliseconds of the event loop: too much for what is refused then, and for the small ones behind it."""

LINGER_SECONDS = 2.0
"""Time to read and drop the rest of a refused body: without it the caller sees a broken connection, not the answer."""


class Disconnected(Exception):
    """The caller went away before the body was complete."""


class Limits:
    """The present load of one process, and its bounds.

    Requests are counted on the event loop, and so are bodies; answers grow in the threads that make them.

    Args:
        note_wait: called with the seconds that a large request waited for a thread, whether it got one or not.
    """

    def __init__(self, settings: Settings, note_wait: Callable[[float], None] | None = None) -> None:
        self.settings = settings
        self.requests = 0
        self.held_bytes = 0
        self.work_bytes = 0
        self.turn = Turn()
        self.is_draining = False
        self._holding = threading.Lock()
        self.threads = settings.threads or core_count()
        self._shared: dict[str, asyncio.Task[None]] = {}
        self._work = Threads(
            self.threads,
            max_queue=settings.max_queue,
            queue_seconds=settings.queue_seconds,
            name="tokd-work",
            what="large requests and chats",
            note_wait=note_wait,
        )

    def close(self) -> None:
        """Take no more work into threads."""
        self._work.close()

    def require_ready(self) -> None:
        """Refuse to be sent requests: when there are too many, and when this server is to end.

        Errors:
            ``saturated``
        """
        if self.is_draining:
            raise saturated("this server is about to end")
        self.admit()

    def admit(self) -> None:
        """Refuse a request when as many as may be are under way.

        Errors:
            ``saturated``
        """
        if self.requests > self.settings.max_requests:
            raise saturated(f"{self.settings.max_requests} requests are under way")

    def begin(self, length: int, log_entry: LogEntry) -> None:
        """Refuse by its length a body for which there will be no thread, before it is read.

        Errors:
            ``saturated``
        """
        if length > self.settings.max_body_bytes:
            # Refused for good where it is read.
            return
        if length > SMALL_BYTES:
            self._work.require_room()
        if length > self.settings.inline_bytes:
            self.take_work(length, log_entry)

    async def wait_for_turn(self, size: int, log_entry: LogEntry) -> None:
        """Wait until the event loop may work on a body that was read; many that came at once do not stop all others.

        Errors:
            ``saturated``: meanwhile others took the last threads.
        """
        self.begin(size, log_entry)
        while self.turn.is_over():
            await asyncio.sleep(0)
            self.begin(size, log_entry)

    def take_work(self, size: int, log_entry: LogEntry) -> None:
        """Count the work of a large request, in bytes of text, until it is answered; one alone is always taken.

        Args:
            size: all its work, of which some may be counted already.

        Errors:
            ``saturated``
        """
        more = size - log_entry.work_bytes
        if more <= 0:
            return
        most = self.settings.max_work_bytes
        if self.work_bytes + more > most and self.work_bytes > log_entry.work_bytes:
            raise saturated(f"large requests of {most} bytes are under way")
        log_entry.work_bytes += more
        self.work_bytes += more

    async def read(self, length: int | None, receive: Receive, log_entry: LogEntry) -> list[bytes]:
        """Read a body in the chunks it comes in; a too large one, declared or not, is refused before it is read whole.

        Errors:
            ``body_too_large``, ``saturated``, ``request_timeout``

        Raises:
            Disconnected
        """
        if length is not None and length > self.settings.max_body_bytes:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                return await self._read_chunks(receive, log_entry)
        except TimeoutError:
            raise ServiceError(
                "request_timeout", f"the body did not arrive in {self.settings.body_seconds} seconds; send it faster"
            ) from None

    async def _read_chunks(self, receive: Receive, log_entry: LogEntry) -> list[bytes]:
        chunks: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            chunk: bytes = message.get("body", b"")
            more = message.get("more_body", False)
            # Set before the body may be refused: after its last chunk nothing is left to throw away.
            log_entry.unread = more
            chunks.append(chunk)
            self._count_body(len(chunk), log_entry)
        return chunks

    def _count_body(self, size: int, log_entry: LogEntry) -> None:
        log_entry.bytes_in += size
        self.hold_body(size, log_entry)
        if log_entry.bytes_in > self.settings.max_body_bytes:
            raise self._too_large()

    def hold_body(self, size: int, log_entry: LogEntry) -> None:
        """Count bytes of a body, as they come and once more unpacked.

        Errors:
            ``saturated``
        """
        self.hold(size, log_entry)
        self._refuse_more()

    def hold(self, size: int, log_entry: LogEntry) -> None:
        """Count bytes that stay in memory until the request is answered."""
        with self._holding:
            log_entry.held_bytes += size
            self.held_bytes += size

    def grow(self, size: int, log_entry: LogEntry) -> None:
        """Count bytes of an answer while it is made, in whatever thread that is.

        Errors:
            ``answer_too_large``, ``saturated``
        """
        log_entry.made_bytes += size
        self.hold(size, log_entry)
        most = self.settings.max_held_bytes
        if log_entry.held_bytes > most:
            detail = f"the request and its answer are larger than {most} bytes; ask for less of it, or send it in parts"
            raise ServiceError("answer_too_large", detail)
        try:
            self._refuse_more()
        except ServiceError:
            # At once, so that of several that grow together not all are refused.
            self.hold(-log_entry.made_bytes, log_entry)
            log_entry.made_bytes = 0
            raise

    def _refuse_more(self) -> None:
        if self.held_bytes > self.settings.max_held_bytes:
            raise saturated(f"the server holds {self.settings.max_held_bytes} bytes of requests and answers")

    def release(self, log_entry: LogEntry) -> None:
        """Count what a request held and did as free again."""
        self.work_bytes -= log_entry.work_bytes
        log_entry.work_bytes = 0
        if log_entry.held_bytes:
            self.hold(-log_entry.held_bytes, log_entry)

    def _too_large(self) -> ServiceError:
        most = self.settings.max_body_bytes
        return ServiceError("body_too_large", f"the body is larger than {most} bytes; send it in parts")

    @property
    def is_full(self) -> bool:
        """True if no further large request may wait for a thread."""
        return self._work.is_full

    @property
    def in_threads(self) -> int:
        """Number of large requests in threads or waiting for one."""
        return self._work.taken

    async def in_thread(self, work: Callable[..., T], *arguments: object, until: float = inf) -> T:
        """Run work beside the event loop.

        Errors:
            ``saturated``, ``deadline_exceeded``
        """
        return await self._work.run(work, *arguments, until=until)

    async def once(self, key: str, work: Callable[[], None]) -> None:
        """Run work in a thread, once for all who ask for it meanwhile; those who wait take no thread.

        Errors:
            ``saturated``, and those of the work.
        """
        running = self._shared.get(key)
        if running is None:
            running = self._shared[key] = asyncio.create_task(self.in_thread(work))
            running.add_done_callback(lambda _: self._shared.pop(key))
        # Shielded, because others still wait for it when one of them goes away.
        await asyncio.shield(running)

    async def throw_away(self, receive: Receive) -> None:
        """Read and forget what is left of a refused body, for a short time and at most once the largest body."""
        left = self.settings.max_body_bytes
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
