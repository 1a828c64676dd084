"""One connection: HTTP/1.1, read by httptools. A request is answered by the kernel at once, or by a task of ASGI.

The states of what is read; answers have none, since they follow each other in a line:

    IDLE --the first byte--> HEAD --to a route of the kernel-----> KERNEL --not plain, or not whole in one read--> BODY
                              ^ |---refused under overload-------> DROP
                              | |---any other----------------------------------------------------------------> BODY
                              | `---offers another protocol------> OFFER
                              `-----read again without the offer-----'

    KERNEL, DROP, BODY --the end of the body--> IDLE
    every state --no HTTP, a head too large, the end of what the caller sends--> OVER

No caller can hold a connection and its memory forever: the size and time of a head are bounded, and so is the time in
which an answer must be read. Errors have the shape of all others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn import Config
from uvicorn.server import ServerState

from service.admission.threads import saturated
from service.errors import ServiceError, refusal
from service.http import bounds, request_head
from service.http.asgi_request import REFUSED, AsgiRequest, RequestQueue
from service.http.bounds import Timers
from service.http.fast_path import FastPath
from service.http.request_head import MAX_HEAD_BYTES
from service.http.wire import Wire, address
from service.request_log import LogEntry

PART_BYTES = 32 << 10
"""Bytes that are parsed before the next look whether requests wait: parsed they take forty times as many bytes. The
rest of a body holds no request, and is parsed in one go."""

MOST_IN_A_ROW = 16
"""Requests of one read that are answered at once; other connections come before the rest."""

_log = logging.getLogger("uvicorn.error")


class Reading(Enum):
    """The state of what is read; behind ``OVER`` what still arrives is ignored."""

    IDLE = auto()
    HEAD = auto()
    OFFER = auto()
    KERNEL = auto()
    DROP = auto()
    BODY = auto()
    OVER = auto()


_IDLE, _HEAD, _OFFER, _KERNEL, _DROP, _BODY, _OVER = Reading


class Connection(asyncio.Protocol):
    """One connection to an application, whose ``fast_paths`` hold the kernel's routes by request target."""

    state = _IDLE

    _parser: HttpRequestParser
    _kernel: FastPath
    _entry: LogEntry | None = None
    """Of the request that is being read, in the state ``KERNEL``."""

    _request: AsgiRequest
    """That which is being read, in the state ``BODY``."""

    _left: bytes | memoryview = b""
    """Bytes that have arrived and are parsed once no request waits in line."""

    _body_bytes = 0
    """Bytes that have been read of the body at hand."""

    _idle_bytes = 0
    """Bytes that have been read since a body made progress."""

    _in_a_row = 0
    _is_ending = False
    """True if the server ends, so that the next answer is the last one."""

    _hosts: list[bytes] | None = None
    """The last valid header ``host``; callers send the same one with every request, so it is not checked again."""

    def __init__(self, config: Config, server_state: ServerState, *_: object, **__: object) -> None:
        if not config.loaded:
            config.load()
        self.app = config.loaded_app
        self._keep_alive_seconds = config.timeout_keep_alive
        self.requests = RequestQueue(self.app, server_state.tasks)
        self._server_state = server_state
        self._connections: set[Any] = server_state.connections
        self._fast_paths: Mapping[bytes, FastPath] = getattr(self.app, "fast_paths", {})
        self._begin_to_parse()
        self._body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request, unless there are too many connections."""
        self.transport = cast(asyncio.Transport, transport)
        self.wire = Wire(self.transport, self._server_state, lambda: bool(self.requests.waiting or self._left))
        self.timers = Timers(self.transport.abort, self._keep_alive_seconds)
        self.client, self._server = address(transport, "peername"), address(transport, "sockname")
        self._connections.add(self)
        if len(self._connections) > bounds.MAX_CONNECTIONS:
            self._refuse(saturated(f"{bounds.MAX_CONNECTIONS} connections are open"))
        else:
            self.timers.start("head", bounds.HEAD_SECONDS)

    def connection_lost(self, _: Exception | None) -> None:
        """Tell the requests at hand that their caller is gone."""
        self._connections.discard(self)
        self._left = b""
        self.timers.stop_all()
        self.requests.lose()
        self.wire.resume_writing()
        # They hold each other.
        self._parser = None  # type: ignore[assignment]  # never used behind the end

    def eof_received(self) -> bool:
        """Answer a caller who closes the sending side behind whole requests; if it is gone, to write the answer fails.

        A stream of events ends at once: it may have nothing to write for long, and who watches one closes both sides.
        """
        return self.requests.ending() is None and self._end_behind_the_last()

    def pause_writing(self) -> None:
        """Give a caller who does not read its answer some time, and then up."""
        self.wire.pause_writing()
        self.timers.start("read", bounds.READ_SECONDS)

    def resume_writing(self) -> None:
        self.timers.stop("read")
        self.wire.resume_writing()

    def shutdown(self) -> None:
        """Let the request at hand end, for a time, or one that is on its way; a stream of events at once."""
        if self.requests.is_done:
            self._is_ending = True
            self.timers.start("last", bounds.LAST_SECONDS, self._end_if_done)
        elif self.requests.newest is not None:
            self.requests.newest.keep_alive = False
        self.timers.start("end", bounds.END_SECONDS)
        ending = self.requests.ending()
        if ending is not None:
            ending.set()

    def _end_if_done(self) -> None:
        if self.requests.is_done:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Read what has arrived, unless requests wait in line."""
        self._in_a_row = 0
        if self._left:
            data = bytes(self._left) + data
        self._left = data if len(data) <= PART_BYTES else memoryview(data)
        self._parse_left()

    def _parse_left(self) -> None:
        while self._left and not self.requests.waiting:
            size = PART_BYTES
            if len(self._left) > PART_BYTES:
                size = max(PART_BYTES, self._missing_bytes())
            part, self._left = self._left[:size], self._left[size:]
            self._parse(part)
        if self.state is _KERNEL:
            self._begin_task()

    def _missing_bytes(self) -> int:
        """Bytes that the body at hand still lacks; 0 in a head and where its length is not told beforehand."""
        if self.state not in (_DROP, _KERNEL, _BODY):
            return 0
        told = next((value for name, value in self._headers if name == b"content-length"), b"0")
        return int(told) - self._body_bytes

    def _parse(self, data: bytes | memoryview) -> None:
        if self.state is _OVER:
            return
        self._idle_bytes += len(data)
        try:
            try:
                self._parser.feed_data(data)
            except HttpParserUpgrade as offer:
                self._ignore_offers(memoryview(data)[offer.args[0] :])
        except HttpParserError as error:
            _log.warning("Invalid HTTP request received.")
            self._refuse(error.__context__ if isinstance(error.__context__, ServiceError) else request_head.not_http())
        if self._idle_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(request_head.too_large())
        else:
            self._watch_the_head()

    def _begin_to_parse(self) -> None:
        self._parser = HttpRequestParser(self)
        # Or the rest of a request would not be taken that says that the connection ends with it.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def _ignore_offers(self, rest: memoryview) -> None:
        """Read a head again without its offer of another protocol, which a server may ignore, and what follows it.

        The parser would take the request's body for the other protocol and lose it, and all requests behind it.
        """
        while self.state is _OFFER:
            head = request_head.without_offer(self._parser, self._url, self._headers)
            self._begin_to_parse()
            self._parser.feed_data(head)
            try:
                self._parser.feed_data(rest)
            except HttpParserUpgrade as offer:
                rest = rest[offer.args[0] :]

    def on_message_begin(self) -> None:
        self.state = _HEAD
        self.timers.end_quiet()
        self._body_bytes = 0
        self._url = b""
        self._expects = False
        self._headers: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header without the white space behind its value, which is not a part of it.

        What stands in the trailer of a chunked body is dropped: as a header it would count or not with the time at
        which it comes, and let in a caller who has shown no key (RFC 9110, section 6.5.1).
        """
        if self.state is _HEAD:
            name, value = name.lower(), value.rstrip(b" \t")
            if name == b"expect" and value.lower() == b"100-continue":
                self._expects = True
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Check a head, and decide who answers; what is raised here stops the parser."""
        if self._idle_bytes > MAX_HEAD_BYTES:
            request_head.require_size(self._url, self._headers)
        hosts = [value for name, value in self._headers if name == b"host"]
        if not hosts or hosts != self._hosts:
            request_head.require_one_host(hosts, self._parser.get_http_version())
            self._hosts = hosts
        self._idle_bytes = 0
        # Again: the request before may have been answered while this head came.
        self.timers.end_quiet()
        self.timers.stop("head")
        kernel = self._fast_paths.get(self._url)
        entry = kernel.open(self._headers, self.client) if kernel is not None and self._is_ordinary() else None
        if kernel is not None and entry is not None:
            refused = kernel.refusal(entry, self._headers)
            if refused is None:
                self.state, self._kernel, self._entry = _KERNEL, kernel, entry
            else:
                self.state = _DROP
                self.wire.write_whole(*refused)
                self.timers.start("drop", bounds.READ_SECONDS)
        elif self._parser.should_upgrade() and self._parser.get_method() != b"CONNECT":
            self.state = _OFFER
        else:
            self._begin_task()

    def _is_ordinary(self) -> bool:
        parser = self._parser
        return (
            parser.get_method() == b"POST"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and parser.get_http_version() == "1.1"
            and not self._expects
            and self.requests.is_done
            and self._in_a_row < MOST_IN_A_ROW
            and not self.wire.write_paused
            and not self._is_ending
            and not self.transport.is_closing()
        )

    def on_body(self, body: bytes) -> None:
        self._idle_bytes = 0
        self._body_bytes += len(body)
        if self.state is _KERNEL:
            self._body.append(body)
        elif self.state is _BODY:
            self._request.add_body(body)

    def on_message_complete(self) -> None:
        """Answer a body, or hand on its end."""
        self._idle_bytes = 0
        if self.state is _KERNEL and self._entry is not None:
            answer = self._kernel.answer(self._entry, self._headers, b"".join(self._body))
            if answer is None:
                self._begin_task()
            else:
                self._entry = None
                self._body.clear()
                self.wire.write_whole(*answer)
                self._end_at_once()
        elif self.state is _DROP:
            self.timers.stop("drop")
            self._end_at_once()
        if self.state is _BODY:
            self._request.end_body()
            self.state = _IDLE

    def _end_at_once(self) -> None:
        self.state = _IDLE
        self._in_a_row += 1
        self._answered()

    def _begin_task(self) -> None:
        scope = request_head.scope_of(self._parser, self._url, self._headers)
        scope["client"], scope["server"] = self.client, self._server
        if self._entry is not None:
            scope["log_entry"], self._entry = self._entry, None
        is_1_1 = scope["http_version"] == "1.1"
        self._request = AsgiRequest(
            scope,
            self.wire,
            keep_alive=is_1_1 and self._parser.should_keep_alive() and not self._is_ending,
            # A caller of HTTP/1.0 would take "100 Continue" for the answer.
            awaits_continue=self._expects and is_1_1,
            on_answered=self._answered,
        )
        self.state = _BODY
        self.requests.add(self._request)
        if self.requests.waiting:
            self.wire.pause_reading()
        for part in self._body:
            self._request.add_body(part)
        self._body.clear()

    def _answered(self) -> None:
        """Go on with what came meanwhile, or watch how long nothing comes."""
        self._server_state.total_requests += 1
        if self.transport.is_closing():
            self._end_unread()
        elif self.requests.waiting:
            self.requests.start_next()
            self._parse_left()
            self.wire.resume_reading()
            self._watch_the_head()
        else:
            self.wire.resume_reading()
            self.timers.begin_quiet()

    def _watch_the_head(self) -> None:
        """Bound the time of a head that has begun, but not while requests wait in line: the rest of it is not read."""
        if self.state is _HEAD and "head" not in self.timers and not self.requests.waiting:
            self.timers.start("head", bounds.HEAD_SECONDS)

    def _refuse(self, error: ServiceError) -> None:
        """Answer what is no request, behind the answers to those before it, and end the connection."""
        if self.state is _OVER:
            return
        if self.state is _KERNEL:
            # However its bytes are cut, a request whose body breaks off is counted as its task.
            self._begin_task()
        self.state = _OVER
        refused, broken = refusal(error, root=getattr(self.app, "link_root", "")), self.requests.broken()
        note = getattr(self.app, "note_refused", None)
        if broken is not None:
            # Nothing that its task still sends may stand behind the refusal.
            broken.lose()
            if broken.is_started:
                # It has its answer already, behind which the rest of its body was thrown away.
                self._close()
                return
            broken.scope[REFUSED] = refused
        elif note is not None:
            note(refused)
        # A refusal would be taken for the answer to what came before, or stand in the middle of it.
        if not self._end_behind_the_last():
            more = ((b"connection", b"close"), *refused.headers)
            self.wire.write_whole(refused.media_type.encode("ascii"), refused.body, more, refused.status)
            self._close()

    def _end_behind_the_last(self) -> bool:
        if not self.requests.end_behind_the_last():
            return False
        self.state = _OVER
        self.timers.stop("head")
        return True

    def _close(self) -> None:
        self.transport.close()
        self._end_unread()

    def _end_unread(self) -> None:
        """Give a caller some time to read what waits on a connection that is closed: it stays open until then."""
        if "end" not in self.timers:
            self.timers.start("end", bounds.READ_SECONDS)
