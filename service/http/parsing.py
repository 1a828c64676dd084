"""Parse requests with uvicorn's parser: a long read in parts, white space and trailers by the standard, no upgrades."""

from __future__ import annotations

import re
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_NO_PATH = re.compile(rb"\Ahttps?://[^/?#]+(?=\?|\Z)", re.IGNORECASE)
"""Of a URL whose path is empty, which is the path ``/`` (RFC 9110, section 4.2.3)."""

PART_BYTES = 32 << 10
"""Bytes that are parsed before the next look whether requests wait: parsed they take forty times as many bytes.

The rest of a body holds no request, and is parsed in one go.
"""


class ParsingProtocol(HttpToolsProtocol):
    """One connection whose requests all become tasks."""

    _left: bytes | memoryview = b""
    """Bytes that have arrived and are parsed once no request waits in line."""

    _body_bytes = 0
    """Bytes that have been read of the body at hand."""

    _in_head = False
    _has_offer = False
    """Whether the head at hand offers another protocol, such as Java's clients HTTP/2."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.headers: list[tuple[bytes, bytes]] = []

    def data_received(self, data: bytes) -> None:
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
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._has_offer = True
        else:
            self._start_cycle()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._has_offer:
            super().on_message_complete()

    def _start_cycle(self) -> None:
        """Do what uvicorn does at the beginning and at the end of a head, for which every URL has a path."""
        url, headers, expects = _NO_PATH.sub(rb"\g<0>/", self.url), self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()
