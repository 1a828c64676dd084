"""A ``multipart/form-data`` body, taken apart while it arrives: what a part holds goes to a sink, never into memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from service.errors import ServiceError

MAX_PREAMBLE = 4096
"""Bytes before the first boundary, which mean nothing (RFC 2046, section 5.1.1)."""

MAX_HEADERS = 8
MAX_HEADER_BYTES = 4096
MAX_BOUNDARY = 70
"""Of RFC 2046."""

_CRLF = "a delimiter is a line of its own, with CRLF before and after it"
_IDENTITY = (b"", b"binary", b"8bit", b"7bit")
_UTF8 = (b"", b"utf-8", b"utf8", b"us-ascii")
_silent = logging.Logger("tokd.multipart", logging.CRITICAL + 1)
"""The parser would log what callers send."""


@dataclass(frozen=True, slots=True)
class Part:
    """What the headers of a part say."""

    name: str
    filename: str | None


class Sink(Protocol):
    """Takes what a part holds."""

    def write(self, data: bytes) -> None:
        """Take some more."""

    def close(self) -> None:
        """Take note that the part is complete."""


def boundary_of(content_type: bytes) -> bytes:
    """Return what separates the parts.

    Errors:
        ``invalid_multipart``
    """
    _, options = parse_options_header(content_type.decode("latin-1"))
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= MAX_BOUNDARY or not boundary.isascii():
        raise ServiceError(
            "invalid_multipart",
            f"the header content-type names no boundary of 1 to {MAX_BOUNDARY} characters",
            "header content-type",
        )
    return boundary


class Form:
    """Takes a body apart.

    Args:
        begin: called with every part; returns where its content goes.
        max_parts: more are refused.
    """

    def __init__(self, boundary: bytes, begin: Callable[[Part], Sink], *, max_parts: int) -> None:
        self._delimiter = b"--" + boundary
        # A delimiter begins a line, as the beginning of the body does.
        self._before = self._tail = b"\r\n"
        self._in_preamble = True
        self._begin = begin
        self._max_parts = max_parts
        self._parts = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._name = self._value = b""
        self._sink: Sink | None = None
        self._ended = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._on_part_begin,
                "on_header_begin": self._on_header_begin,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_part_data": self._on_part_data,
                "on_part_end": self._on_part_end,
                "on_end": self._on_end,
            },
            max_header_count=MAX_HEADERS,
            max_header_size=MAX_HEADER_BYTES,
        )
        self._parser.logger = _silent

    def feed(self, data: bytes) -> None:
        """Take some more of the body.

        Errors:
            ``invalid_multipart``, ``too_many_parts``, and what ``begin`` and the sinks raise.
        """
        if self._in_preamble:
            data = self._skip_preamble(data)
        self._refuse_misplaced(data)
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise _invalid(f"the body is not what its boundary says: {str(error)[:80]}") from None

    def finish(self) -> None:
        """Take note that the body is complete.

        Errors:
            ``invalid_multipart``: it is cut short.
        """
        if not self._ended:
            raise _invalid("the body ends before its closing boundary")

    def _skip_preamble(self, data: bytes) -> bytes:
        """Return what comes from the first boundary on."""
        before = self._before + data
        at = before.find(self._delimiter, 0, len(b"\r\n" + self._delimiter) + MAX_PREAMBLE)
        if at >= 0:
            if not before.startswith(b"\r\n", at - 2):
                raise _invalid(f"its boundary is first at byte {at - 2}, where no line begins; {_CRLF}")
            self._in_preamble = False
            return before[at:]
        if len(before) >= len(b"\r\n" + self._delimiter) + MAX_PREAMBLE:
            raise _invalid(f"its boundary is not in the first {MAX_PREAMBLE} bytes of the body")
        self._before = before
        return b""

    def _refuse_misplaced(self, data: bytes) -> None:
        """Hold that no part goes on over a line that was meant to end it: what follows would be lost in it."""
        seen, delimiter = self._tail + data, self._delimiter
        if delimiter in seen:
            # What is counted begins behind the first two bytes, which only tell how a line begins.
            lost = seen.count(delimiter + b"\n", 2)
            for end in (b"\r", b"--\r", b"--\n"):
                lost += seen.count(delimiter + end, 2) - seen.count(b"\r\n" + delimiter + end)
            if lost:
                raise _invalid(f"its boundary ends a line that is no delimiter; {_CRLF}")
        self._tail = seen[-len(b"\r\n" + delimiter + b"--") :]

    def _on_part_begin(self) -> None:
        self._parts += 1
        if self._parts > self._max_parts:
            raise ServiceError("too_many_parts", f"the body has more than {self._max_parts} parts; send fewer")
        self._headers = []

    def _on_header_begin(self) -> None:
        self._name = self._value = b""

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers.append((self._name.lower(), self._value))

    def _on_headers_finished(self) -> None:
        self._sink = self._begin(_part(self._headers))

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._sink is not None:
            self._sink.write(data[start:end])

    def _on_part_end(self) -> None:
        if self._sink is not None:
            self._sink.close()
            self._sink = None

    def _on_end(self) -> None:
        self._ended = True


def _part(headers: list[tuple[bytes, bytes]]) -> Part:
    found = dict(headers)
    if len(found) < len(headers):
        raise _invalid("a part has a header twice")
    kind, options = parse_options_header(found.get(b"content-disposition", b"").decode("latin-1"))
    if kind != b"form-data" or not options.get(b"name"):
        raise _invalid("a part has no content-disposition: form-data with a name")
    name = options[b"name"].decode("utf-8", "replace")
    if found.get(b"content-transfer-encoding", b"").strip().lower() not in _IDENTITY:
        raise ServiceError("unsupported_encoding", "a part must not be encoded; send its bytes as they are", name)
    _, parameters = parse_options_header(found.get(b"content-type", b"").decode("latin-1"))
    if parameters.get(b"charset", b"").lower() not in _UTF8:
        raise ServiceError("unsupported_charset", "a part must be UTF-8", name)
    filename = options.get(b"filename")
    return Part(name, None if filename is None else filename.decode("utf-8", "replace"))


def _invalid(detail: str) -> ServiceError:
    return ServiceError("invalid_multipart", detail)
