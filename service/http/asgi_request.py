"""One request as ASGI has it: its body as it arrives, and its answer as the application sends it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Any

from service.http.wire import STATUS_LINES, Wire
from service.request_log import Trace

WRITE_WHOLE = "tokd.write_whole"
"""The extension of ASGI by which a hot route writes a whole answer in one call. It is given media type, body and
headers, and tells whether it wrote them; if not, the messages of ASGI are still to be sent."""

IS_GONE = "tokd.is_gone"
"""The extension of ASGI that tells, in any thread, whether the connection of a request is lost."""

REFUSED = "refused"
"""The key, in the scope of a request, of the refusal by which its connection has answered it: its body is not HTTP."""

MAX_WAITING_BYTES = 64 << 10
"""Bytes of a body that wait for the application before reading is paused."""

_log = logging.getLogger("uvicorn.error")


class AsgiRequest:
    """A request that a task answers.

    Args:
        keep_alive: whether the connection stays open behind the answer.
        awaits_continue: whether the caller sends the body once it is told to.
        on_answered: called when the answer is complete.
    """

    is_gone = False
    """True if the connection is lost."""

    is_started = is_answered = False
    """True if the head of the answer is written, and if all of it is."""

    more_body = True
    _is_chunked = False
    _missing: int | None = None
    """Bytes that the answer still lacks, if its length was declared."""

    def __init__(
        self,
        scope: dict[str, Any],
        wire: Wire,
        *,
        keep_alive: bool,
        awaits_continue: bool,
        on_answered: Callable[[], None],
    ) -> None:
        self.scope, self.keep_alive = scope, keep_alive
        self._wire, self._awaits_continue, self._on_answered = wire, awaits_continue, on_answered
        self._parts: list[bytes] = []
        self._waiting_bytes = 0
        self._news = asyncio.Event()
        scope["extensions"] = {WRITE_WHOLE: {"send": self._write_whole}, IS_GONE: {"ask": lambda: self.is_gone}}

    async def run(self, app: Callable[..., Awaitable[None]]) -> None:
        """Have the application answer."""
        try:
            await app(self.scope, self._receive, self._send)
        except BaseException as error:  # also the cancellation at the end of the server
            # Without its message, which may quote a caller.
            trace = "".join(traceback.format_tb(error.__traceback__))
            self._break_off(f"{type(error).__name__}\n{trace}")
        else:
            if not (self.is_answered or self.is_gone):
                self._break_off("the application is done with it")
        # They hold this request.
        self.scope, self._on_answered = {}, lambda: None

    def _break_off(self, why: str) -> None:
        """End the connection, or what was sent would be taken for a whole answer."""
        _log.error("a request was not answered: %s", why)
        if self.is_gone:
            return
        if not self.is_started:
            self._write_head(HTTPStatus.INTERNAL_SERVER_ERROR, [(b"content-length", b"0"), (b"connection", b"close")])
            self._end_answer()
        elif self._is_chunked or self._missing is not None:
            self._wire.transport.close()
        else:
            # An ordinary end of the connection would be that of the answer.
            self._wire.transport.abort()

    def add_body(self, part: bytes) -> None:
        """Take a part of the body; what comes behind the answer is dropped."""
        if not self.is_answered:
            self._parts.append(part)
            self._waiting_bytes += len(part)
            if self._waiting_bytes > MAX_WAITING_BYTES:
                self._wire.pause_reading()
            self._news.set()

    def end_body(self) -> None:
        """Take note that the body is complete."""
        if not self.is_answered:
            self.more_body = False
            self._news.set()

    def lose(self) -> None:
        """Take note that nothing more can be sent."""
        if not self.is_answered:
            self.is_gone = True
            self._news.set()

    async def _receive(self) -> dict[str, Any]:
        if self._awaits_continue and not self._wire.transport.is_closing():
            self._awaits_continue = False
            self._wire.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not (self.is_gone or self.is_answered):
            self._wire.resume_reading()
            await self._news.wait()
            self._news.clear()
        if self.is_gone or self.is_answered:
            return {"type": "http.disconnect"}
        body, self._parts, self._waiting_bytes = b"".join(self._parts), [], 0
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def _send(self, message: dict[str, Any]) -> None:
        if self._wire.write_paused and not self.is_gone:
            await self._wire.drain()
        if self.is_gone:
            return
        kind = message["type"]
        if kind == "http.response.start" and not self.is_started:
            self._write_head(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self.is_started and not self.is_answered:
            self._write_body(message.get("body", b""), is_last=not message.get("more_body", False))
        else:
            raise RuntimeError(f"the message {kind} is out of turn")

    def _write_whole(self, media_type: bytes, body: bytes | memoryview, headers: Trace) -> bool:
        if self.is_gone or self.is_started or self._wire.write_paused or not self.keep_alive:
            return False
        self.is_started = True
        self._wire.write_whole(media_type, body, headers)
        self._end_answer()
        return True

    def _write_head(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.is_started, self._awaits_continue = True, False
        lines = [STATUS_LINES[status], self._wire.common_head()]
        says_close = False
        for name, value in headers:
            field = name.lower()
            if field == b"content-length":
                self._missing = int(value)
            elif field == b"connection":
                says_close = b"close" in value.lower()
            lines.append(b"%b: %b\r\n" % (field, value))
        if says_close:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        if self.scope["method"] == "HEAD" or status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            self._missing = 0
        elif self._missing is None and self.scope["http_version"] == "1.1":
            # HTTP/1.0 knows no chunks (RFC 9112, section 6.1): there the answer ends with the connection.
            self._is_chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._wire.transport.write(b"".join(lines))

    def _write_body(self, body: bytes | memoryview, *, is_last: bool) -> None:
        if self._is_chunked:
            chunk = (b"%x\r\n" % len(body), body, b"\r\n") if body else ()
            self._wire.transport.write(b"".join((*chunk, b"0\r\n\r\n" if is_last else b"")))
        elif self.scope["method"] != "HEAD":
            if self._missing is not None:
                self._missing -= len(body)
                if self._missing < 0 or (is_last and self._missing):
                    raise RuntimeError("the answer has another length than it declares")
            self._wire.transport.write(body)
        if is_last:
            self._end_answer()

    def _end_answer(self) -> None:
        self.is_answered = True
        self._news.set()
        if not self.keep_alive:
            self._wire.transport.close()
        self._on_answered()


class RequestQueue:
    """The requests of one connection, answered in the order in which they came.

    Args:
        tasks: those of the server, which waits for them at its end.
    """

    newest: AsgiRequest | None = None
    """The last one, whose body may still be read."""

    _answering: AsgiRequest | None = None
    """The first one that is not answered."""

    def __init__(self, app: Callable[..., Awaitable[None]], tasks: set[asyncio.Task[None]]) -> None:
        self.waiting: deque[AsgiRequest] = deque()
        self._app, self.tasks = app, tasks

    @property
    def is_done(self) -> bool:
        """True if every request is answered."""
        return self.newest is None or self.newest.is_answered

    def add(self, request: AsgiRequest) -> None:
        """Have a request answered, once those before it are."""
        is_next, self.newest = self.is_done, request
        self.waiting.append(request)
        if is_next:
            self.start_next()

    def start_next(self) -> None:
        """Have the next request answered."""
        self._answering = self.waiting.popleft()
        task = asyncio.get_running_loop().create_task(self._answering.run(self._app))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def lose(self) -> None:
        """Tell the requests that their caller is gone; the others never begin."""
        for request in (self._answering, self.newest):
            if request is not None:
                request.lose()

    def ending(self) -> asyncio.Event | None:
        """Return what ends the answer at hand, if it is a stream of events."""
        answering = self._answering
        return None if answering is None or answering.is_answered else answering.scope.get("ending")

    def broken(self) -> AsgiRequest | None:
        """Return the request that is being answered while its body is read."""
        last = self.newest
        is_read = last is not None and last is self._answering and last.more_body and not last.is_answered
        return last if is_read else None

    def end_behind_the_last(self) -> bool:
        """Make the last whole request the last of the connection; return whether there is one to wait for."""
        if self.waiting and self.waiting[-1].more_body:
            # The rest of it never comes; those before it are whole.
            self.waiting.pop()
            self.newest = self.waiting[-1] if self.waiting else self._answering
        last = self.newest
        if last is None or last.more_body or last.is_answered:
            return False
        last.keep_alive = False
        return True
