"""Hot requests answered where they are read: a whole one that is small and common needs no task, no events, no scope.

uvicorn's parser reads them as all others. What the application does not take at once, and what has not arrived whole
when the bytes at hand are read, becomes a task of ASGI then. So nothing is ever refused here, and nothing waits here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from service.exchange import Headers

TRIED = "tried"
"""The key of ``Tried`` in the scope of a task."""


Whole = tuple[bytes, bytes | memoryview]
"""Media type and body of an answer that is written at once. A class of its own would cost a fiftieth of a request."""

_NO_PATH = re.compile(rb"\Ahttps?://[^/?#]+(?=\?|\Z)", re.IGNORECASE)
"""Of a URL whose path is empty, which is the path ``/`` (RFC 9110, section 4.2.3)."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What was already made of a request that is left to its task, so that the task does not make it again.

    Attributes:
        made: an answer too large to be written at once, or ``None``: there is no short way.
    """

    made: Any


AnswerNow = Callable[[Headers, bytes], Whole | Tried | None]
"""Answers headers and a body, or leaves the request to its task; ``None`` if nothing was tried."""

MOST_IN_A_ROW = 16
"""How many requests of one read are answered at once; other connections come before the rest."""

PART_BYTES = 32 << 10
"""Bytes that are parsed before the next look whether requests wait: parsed they take forty times as many bytes.

The rest of a body holds no request, and is parsed in one go.
"""

COPIED_BYTES = 16 << 10
"""Answers up to this size are copied behind their head."""


class DirectProtocol(HttpToolsProtocol):
    """One connection to an application whose ``direct_answers`` holds, by request target, what answers at once."""

    _answer: AnswerNow | None = None
    """Of the request that is being read, if it may be answered at once."""

    _is_ending = False
    """Whether the server ends, so that the next answer is the last one."""

    _left: bytes | memoryview = b""
    """Bytes that have arrived and are parsed once no request waits in line."""

    _in_a_row = 0
    _body_bytes = 0
    """Bytes that have been read of the body at hand."""

    _in_head = False
    _has_offer = False
    """Whether the head at hand offers another protocol, such as Java's clients HTTP/2."""

    _common: list[tuple[bytes, bytes]] | None = None
    _head = b""
    """Status line and the headers that all answers have, which change once a second."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._direct_answers: Mapping[bytes, AnswerNow] = getattr(self.app, "direct_answers", {})
        self._body: list[bytes] = []
        self.headers: list[tuple[bytes, bytes]] = []

    def data_received(self, data: bytes) -> None:
        self._in_a_row = 0
        if self._left:
            data = bytes(self._left) + data
        self._left = data if len(data) <= PART_BYTES else memoryview(data)
        self._parse_left()

    def _parse_left(self) -> None:
        while self._left and not self.pipeline:
            size = PART_BYTES
            if len(self._left) > PART_BYTES:
                size = max(PART_BYTES, self._missing_bytes())
            part, self._left = self._left[:size], self._left[size:]
            self._parse(part)
        if self._answer is not None:
            self._become_a_task()

    def _missing_bytes(self) -> int:
        """Bytes that the body at hand still lacks; 0 in a head and where its length is not told beforehand."""
        if self._in_head:
            return 0
        told = next((value for name, value in self.headers if name == b"content-length"), b"0")
        return int(told) - self._body_bytes

    def _parse(self, data: bytes | memoryview) -> None:
        try:
            try:
                self.parser.feed_data(data)
            except HttpParserUpgrade as offer:
                self._ignore_offers(memoryview(data)[offer.args[0] :])
        except HttpParserError:
            problem = "Invalid HTTP request received."
            self.logger.warning(problem)
            self.send_400_response(problem)

    def _ignore_offers(self, rest: memoryview) -> None:
        """Read a head again without its offer of another protocol, which a server may ignore, and what follows it.

        The parser would take the request's body for the other protocol and lose it, and all requests behind it.
        """
        while self._has_offer:
            self._has_offer = False
            offered = self.parser
            # Where the connection ends with this request, the parser that has read it takes in nothing more.
            self.parser = parser = HttpRequestParser(self)
            parser.set_dangerous_leniencies(lenient_data_after_close=True)
            kept = b"".join(b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade")
            version = offered.get_http_version().encode("ascii")
            parser.feed_data(b"%b %b HTTP/%b\r\n%b\r\n" % (offered.get_method(), self.url, version, kept))
            try:
                parser.feed_data(rest)
            except HttpParserUpgrade as offer:
                rest = rest[offer.args[0] :]

    def on_message_begin(self) -> None:
        self._in_head = True
        self._body_bytes = 0
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header as uvicorn does, but without the white space behind its value, which is not a part of it.

        What stands in the trailer of a chunked body is dropped: as a header it would count or not with the time at
        which it comes, and let in a caller who has shown no key (RFC 9110, section 6.5.1).
        """
        if not self._in_head:
            return
        name, value = name.lower(), value.rstrip(b" \t")
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        answer = self._direct_answers.get(self.url)
        if answer is not None and self._is_ordinary():
            self._answer = answer
        elif self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._has_offer = True
        else:
            self._start_cycle()

    def _is_ordinary(self) -> bool:
        parser = self.parser
        last: RequestResponseCycle | None = self.cycle
        return (
            parser.get_method() == b"POST"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and parser.get_http_version() == "1.1"
            and not self.expect_100_continue
            and (last is None or last.response_complete)
            and self._in_a_row < MOST_IN_A_ROW
            and not self.flow.write_paused
            and not self._is_ending
            and not self.transport.is_closing()
        )

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._answer is None:
            super().on_body(body)
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._has_offer:
            return
        if self._answer is not None:
            given = self._answer(self.headers, self._body[0] if len(self._body) == 1 else b"".join(self._body))
            if isinstance(given, tuple):
                self._answer = None
                self._body.clear()
                self._in_a_row += 1
                self.write_whole(*given)
                self.on_response_complete()
                return
            self._become_a_task()
            if given is not None:
                # The task begins when this read is done.
                scope: Any = self.cycle.scope
                scope[TRIED] = given
        super().on_message_complete()

    def write_whole(self, media_type: bytes, body: bytes | memoryview) -> None:
        """Write an answer in a third of the time that ASGI's two messages take."""
        common = self.server_state.default_headers
        if common is not self._common:
            self._common = common
            self._head = STATUS_LINE[200] + b"".join(b"%b: %b\r\n" % header for header in common)
        head = b"%bcontent-type: %b\r\ncontent-length: %d\r\n\r\n" % (self._head, media_type, len(body))
        if len(body) <= COPIED_BYTES:
            self.transport.write(b"".join((head, body)))
        else:
            self.transport.writelines((head, body))

    def _become_a_task(self) -> None:
        self._answer = None
        self._start_cycle()
        for part in self._body:
            super().on_body(part)
        self._body.clear()

    def _start_cycle(self) -> None:
        """Do what uvicorn does at the beginning and at the end of a head, for which every URL has a path."""
        url, headers, expects = _NO_PATH.sub(rb"\g<0>/", self.url), self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()
