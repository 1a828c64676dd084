"""uvicorn's HTTP/1.1 with the bounds that it lacks: on the size and time of a head, and on the time that an answer
waits to be read. Its errors have the shape of all others.

Without this a caller could send headers without end, or none at all, or never read, and hold a connection and its
memory forever.
"""

from __future__ import annotations

import asyncio
import re
import resource
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NoReturn

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from service.admission.threads import saturated
from service.errors import MEDIA_TYPE, Refusal, ServiceError, refusal
from service.http.fast_path import FastPathProtocol
from service.http.http_1_0 import unframed
from service.request_log import Trace

MAX_HEAD_BYTES = 64 << 10
"""Bytes that may arrive without a body making progress: the request line, headers, trailers."""

HEAD_SECONDS = 30.0
"""Time for a head to arrive, from its first byte or from the start of the connection."""

READ_SECONDS = 30.0
"""Time in which a caller must read some of an answer that waits."""

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

WRITE_WHOLE = "tokd.write_whole"
"""The extension of ASGI by which a hot route writes a whole answer in one call. It is given media type and body, and
tells whether it wrote them; if not, the messages of ASGI are still to be sent."""

IS_GONE = "tokd.is_gone"
"""The extension of ASGI that tells, in any thread, whether the connection of a request is lost."""

TAKES_LONG = "tokd.takes_long"
"""The extension of ASGI that says that a small request was found to take long."""

_Timer = Literal["head", "drop", "read", "end", "last"]
"""Awaited: a head; a body that is dropped; that an answer is read; the end of the connection; at its end, a request."""

REFUSED = "refused"
"""The key, in the scope of a request, of the refusal by which its connection has answered it: its body is not HTTP."""


_HOST = re.compile(rb"(\[[-!$&'()*+,.0-9:;=A-Z_a-z~%]+\]|([-!$&'()*+,.0-9;=A-Z_a-z~]|%[0-9A-Fa-f]{2})*)(:[0-9]*)?")
"""``uri-host [ ":" port ]`` of RFC 9110, section 7.2."""


def _head_too_large() -> ServiceError:
    detail = f"the head of the request is larger than {MAX_HEAD_BYTES} bytes; send less in the URL and headers"
    return ServiceError("head_too_large", detail)


def _not_http() -> ServiceError:
    return ServiceError("invalid_http", "this is not an HTTP/1.1 request; send one that is")


class _Flow(FlowControl):
    """Reads no further while requests wait in line, or a caller who sends without end would fill the memory with them.

    The bodies of those before them are complete, so nobody waits for what is not read.
    """

    def __init__(self, transport: asyncio.Transport, has_enough: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._has_enough = has_enough

    def resume_reading(self) -> None:
        if self.read_paused and not self._has_enough():
            super().resume_reading()


class BoundedProtocol(FastPathProtocol):
    """One connection."""

    _is_over = False
    """Whether what still arrives is ignored."""

    _running: RequestResponseCycle | None = None
    """The request that is being answered; ``cycle`` may be a later one that waits in line."""

    _idle_bytes = 0
    _quiet_since: float | None = None
    """When the last answer was complete, if no request has begun since; the rest of an unread body begins none."""

    _wrong: ServiceError | None = None
    """What is wrong with a head that the parser was stopped at."""

    _host: bytes | None = None
    """The last valid header ``host``; callers send the same one with every request, so it is not checked again."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._timers: dict[_Timer, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self.flow = _Flow(transport, self._has_enough)
        if len(self.connections) > MAX_CONNECTIONS:
            self._refuse(saturated(f"{MAX_CONNECTIONS} connections are open"))
        else:
            self._start_timer("head", HEAD_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._left = b""
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        for timer in self._timers.values():
            timer.cancel()
        super().connection_lost(exc)
        running = self._running
        if running is not None and not running.response_complete:
            # uvicorn wakes only the last request; one before it that waits for its caller to go would wait forever.
            running.disconnected = True
            running.message_event.set()

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn ends every connection here
        """Answer a caller who closes the sending side behind whole requests; if it is gone, to write the answer fails.

        A stream of events ends at once: it may have nothing to write for long, and who watches one closes both sides.
        """
        return self._ending_event() is None and self._end_behind_the_last()

    def _has_enough(self) -> bool:
        return bool(self.pipeline or self._left)

    def _parse(self, data: bytes | memoryview) -> None:
        if self._is_over:
            return
        self._idle_bytes += len(data)
        super()._parse(data)
        if self._idle_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(_head_too_large())
        else:
            self._watch_the_head()

    def on_message_begin(self) -> None:
        self._quiet_since = None
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._idle_bytes > MAX_HEAD_BYTES and self._head_bytes() > MAX_HEAD_BYTES:
            self._stop_at(_head_too_large())
        hosts, host = 0, b""
        for name, value in self.headers:
            if name == b"host":
                hosts += 1
                host = value
        if hosts != 1 or host != self._host:
            self._require_one_host(hosts, host)
        self._idle_bytes = 0
        # Again: the request before may have been answered while this head came.
        self._quiet_since = None
        self._stop_timer("head")
        super().on_headers_complete()
        if self._is_dropping:
            self._start_timer("drop", READ_SECONDS, self.transport.abort)

    def on_body(self, body: bytes) -> None:
        self._idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._idle_bytes = 0
        if self._is_dropping:
            self._stop_timer("drop")
        super().on_message_complete()

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _require_one_host(self, hosts: int, host: bytes) -> None:
        """Do what RFC 9112 wants in section 3.2, of which only HTTP/1.0 may have no host."""
        if hosts > 1:
            wrong = "the request has several headers host"
        elif hosts == 0:
            wrong = "" if self.parser.get_http_version() == "1.0" else "the request has no header host"
        else:
            wrong = "" if _HOST.fullmatch(host) else "the header host is not a name or address, with or without a port"
        if wrong:
            self._stop_at(ServiceError("invalid_http", f"{wrong}; send one", "header host"))
        self._host = host

    def _stop_at(self, error: ServiceError) -> NoReturn:
        # The parser stops at an exception; ``send_400_response`` says why.
        self._wrong = error
        raise ValueError

    def send_400_response(self, _: str) -> None:
        """Answer what is not HTTP, or has a head that is refused."""
        self._refuse(self._wrong or _not_http())

    def _start_cycle(self) -> None:
        # No request of these is answered at once. The parser takes HTTP/0.9 and HTTP/2.0 too, and refuses all others.
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            self._stop_at(_not_http())
        # A caller of HTTP/1.0 would take "100 Continue" for the answer.
        self.expect_100_continue = self.expect_100_continue and version == "1.1"
        super()._start_cycle()
        if self._is_ending:
            self.cycle.keep_alive = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        cycle.scope["extensions"] = {
            WRITE_WHOLE: {"send": partial(self._write_answer, cycle)},
            IS_GONE: {"ask": partial(getattr, cycle, "disconnected")},
        }
        if self._takes_long:
            cycle.scope["extensions"][TAKES_LONG] = {}
        super()._start_asgi_task(cycle, unframed(app, cycle) if cycle.scope["http_version"] == "1.0" else app)

    def _write_answer(
        self, cycle: RequestResponseCycle, media_type: bytes, body: bytes | memoryview, headers: Trace
    ) -> bool:
        if cycle.disconnected or cycle.response_started or cycle.flow.write_paused or not cycle.keep_alive:
            return False
        self.write_whole(media_type, body, headers)
        cycle.waiting_for_100_continue = False
        cycle.response_started = cycle.response_complete = True
        cycle.chunked_encoding = False
        cycle.message_event.set()
        cycle.on_response()
        return True

    def on_response_complete(self) -> None:
        """Go on with what came meanwhile, or watch how long nothing comes."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._end_unread()
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            self._parse_left()
            self.flow.resume_reading()
            self._watch_the_head()
            return
        self.flow.resume_reading()
        self._quiet_since = self.loop.time()
        # The timer stays: to make and to cancel one for each request costs as much as to parse its head.
        if self.timeout_keep_alive_task is None:
            self._watch(self.timeout_keep_alive)

    def _watch(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def pause_writing(self) -> None:
        """Give a caller who does not read its answer some time, and then up."""
        super().pause_writing()
        self._start_timer("read", READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_timer("read")
        super().resume_writing()

    def shutdown(self) -> None:
        """Let the request at hand end, for a time, or one that is on its way; a stream of events at once."""
        if self._is_quiet():
            self._is_ending = True
            self._start_timer("last", LAST_SECONDS, self._end_if_quiet)
        else:
            super().shutdown()
        self._start_timer("end", END_SECONDS, self.transport.abort)
        ending = self._ending_event()
        if ending is not None:
            ending.set()

    def _is_quiet(self) -> bool:
        last: RequestResponseCycle | None = self.cycle
        return last is None or last.response_complete

    def _end_if_quiet(self) -> None:
        if self._is_quiet():
            self.transport.close()

    def _ending_event(self) -> asyncio.Event | None:
        """Return what ends the answer at hand, if it is a stream of events."""
        running: Any = self._running
        return None if running is None or running.response_complete else running.scope.get("ending")

    def timeout_keep_alive_handler(self) -> None:
        """End a quiet connection at once: one whose caller does not read its answer would never close by itself."""
        self.timeout_keep_alive_task = None
        if self._quiet_since is None:
            return
        left = self._quiet_since + self.timeout_keep_alive - self.loop.time()
        if left <= 0:
            self.transport.abort()
        else:
            self._watch(left)

    def _watch_the_head(self) -> None:
        """Bound the time of a head that has begun, but not while requests wait in line: the rest of it is not read."""
        if self._in_head and "head" not in self._timers and not (self._is_over or self.pipeline):
            self._start_timer("head", HEAD_SECONDS, self.transport.abort)

    def _start_timer(self, name: _Timer, seconds: float, then: Callable[[], None]) -> None:
        self._stop_timer(name)
        self._timers[name] = self.loop.call_later(seconds, then)

    def _stop_timer(self, name: _Timer) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _refuse(self, error: ServiceError) -> None:
        if self._is_over:
            return
        self._is_over = True
        if self._fast_path is not None:
            # However its bytes are cut, a request whose body breaks off is counted as its task.
            self._become_a_task()
        refused, broken = refusal(error, root=getattr(self.app, "link_root", "")), self._broken()
        if broken is not None:
            # Nothing that its task still sends may stand behind the refusal.
            broken.disconnected = True
            broken.message_event.set()
            if broken.response_started:
                # It has its answer already, behind which the rest of its body was thrown away.
                self.transport.close()
                self._end_unread()
                return
        # A refusal would be taken for the answer to what came before, or stand in the middle of it.
        if not self._end_behind_the_last():
            self._send_refusal(refused)
        note = getattr(self.app, "note_refused", None)
        if broken is not None:
            scope: Any = broken.scope
            scope[REFUSED] = refused
        elif note is not None:
            note(refused)

    def _broken(self) -> RequestResponseCycle | None:
        """Return the request that is being answered if its body is what is wrong."""
        last: RequestResponseCycle | None = self.cycle
        is_broken = last is not None and last is self._running and last.more_body and not last.response_complete
        return last if is_broken else None

    def _end_behind_the_last(self) -> bool:
        """End the connection after the answer to the last whole request; return whether there is one to wait for."""
        if self.pipeline and self.cycle.more_body:
            # The rest of it never comes; those before it are whole.
            self.pipeline.popleft()
            before: Any = self.pipeline[0][0] if self.pipeline else self._running
            self.cycle = before
        last: RequestResponseCycle | None = self.cycle
        if last is None or last.more_body or last.response_complete:
            return False
        self._is_over = True
        last.keep_alive = False
        self._stop_timer("head")
        return True

    def _send_refusal(self, refused: Refusal) -> None:
        head = STATUS_LINE[refused.status] + (
            f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(refused.body)}\r\nconnection: close\r\n"
        ).encode("ascii")
        more = b"".join(b"%b: %b\r\n" % header for header in refused.headers)
        self.transport.write(b"%b%b\r\n%b" % (head, more, refused.body))
        self.transport.close()
        self._end_unread()

    def _end_unread(self) -> None:
        """Give a caller some time to read what waits on a connection that is closed: it stays open until then."""
        if "end" not in self._timers:
            self._start_timer("end", READ_SECONDS, self.transport.abort)
