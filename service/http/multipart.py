"""A ``multipart/form-data`` body, taken apart while it arrives: what a part holds goes to a sink, never into memory."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote_to_bytes

from python_multipart import MultipartParser
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import parse_options_header

from service.errors import ServiceError

MAX_HEADERS = 8
MAX_HEADER_BYTES = 4096
MAX_BOUNDARY = 70
"""Of RFC 2046."""

# The parser warns of all that it refuses: any caller could fill the log.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)

_DELIMITER = "a delimiter is a line of its own, with CRLF before and after it"
_IDENTITY = (b"", b"binary", b"8bit", b"7bit")
_UTF8 = (b"", b"utf-8", b"utf8", b"us-ascii")

_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
_EXTENDED = re.compile(rb";[ \t]*filename\*([^;]*)", re.IGNORECASE)
_UTF8_VALUE = re.compile(
    rb"[ \t]*=[ \t]*utf-8'[^']*'((?:[!#$&+\-.^_`|~0-9A-Za-z]|%[0-9A-Fa-f]{2})+)[ \t]*", re.IGNORECASE
)
"""Of RFC 8187, section 3.2.1."""


@dataclass(frozen=True, slots=True)
class Part:
    """The name and the file name in the headers of a part."""

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

    The parser hands on a line that only looks like a delimiter as content, and drops what follows the closing one. So
    every place where the boundary stands is counted, and has to be a delimiter: a part never swallows the next one, and
    a file that holds the boundary never loses its rest.

    Args:
        begin: called with every part; returns where its content goes.
        max_parts: more are refused.
    """

    def __init__(self, boundary: bytes, begin: Callable[[Part], Sink], *, max_parts: int) -> None:
        self._delimiter = b"--" + boundary
        self._begin = begin
        self._max_delimiters = max_parts + 1
        self._found = 0
        self._tail = b""
        self._fed = 0
        self._parts = 0
        self._is_complete = False
        self._headers: dict[bytes, bytes] = {}
        self._name = self._value = b""
        self._sink: Sink
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._take_name,
                "on_header_value": self._take_value,
                "on_header_end": self._end_header,
                "on_headers_finished": self._end_headers,
                "on_part_data": lambda data, start, end: self._sink.write(data[start:end]),
                "on_part_end": lambda: self._sink.close(),
                "on_end": self._end,
            },
            max_header_count=MAX_HEADERS,
            max_header_size=MAX_HEADER_BYTES,
        )

    def feed(self, data: bytes) -> None:
        """Take some more of the body.

        Errors:
            ``invalid_multipart``, ``too_many_parts``, and what ``begin`` and the sinks raise.
        """
        self._count_delimiters(data)
        try:
            self._parser.write(data)
        except MultipartParseError as error:
            raise _invalid(
                f"it is not well formed at byte {self._fed + error.offset}; it begins with its boundary, {_DELIMITER}, "
                f"and a part has at most {MAX_HEADERS} headers of at most {MAX_HEADER_BYTES} bytes: name: value"
            ) from None
        self._fed += len(data)

    def finish(self) -> None:
        """Take note that the body is complete.

        Errors:
            ``invalid_multipart``: it is cut short, or its boundary is not only in delimiters.
        """
        if not self._is_complete:
            raise _invalid(f"the body ends before its closing boundary; {_DELIMITER}")
        if self._found != self._parts + 1:
            raise _invalid(
                f"its boundary stands in a part or behind the closing one; {_DELIMITER}, and no part holds the boundary"
            )

    def _count_delimiters(self, data: bytes) -> None:
        """Count where the boundary stands, before the parser spends time on each."""
        *found, tail = (self._tail + data).split(self._delimiter, self._max_delimiters + 1)
        self._found += len(found)
        if self._found > self._max_delimiters:
            raise ServiceError("too_many_parts", f"the body has more than {self._max_delimiters - 1} parts; send fewer")
        self._tail = tail[1 - len(self._delimiter) :]

    def _begin_part(self) -> None:
        self._parts += 1
        self._headers = {}

    def _take_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _take_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        name = self._name.lower()
        if name in self._headers:
            raise _invalid("a part has a header twice")
        if b"\n" in self._value or b"\0" in self._value:
            raise _invalid("a part has a header with a line feed or a NUL in it; a header ends with CRLF")
        self._headers[name] = self._value.strip(b" \t")
        self._name = self._value = b""

    def _end_headers(self) -> None:
        self._sink = self._begin(_part(self._headers))

    def _end(self) -> None:
        self._is_complete = True


def _part(headers: dict[bytes, bytes]) -> Part:
    kind, options = parse_options_header(headers.get(b"content-disposition", b"").decode("latin-1"))
    if kind != b"form-data" or not options.get(b"name"):
        raise _invalid("a part has no content-disposition: form-data with a name")
    name = options[b"name"].decode("utf-8", "replace")
    if headers.get(b"content-transfer-encoding", b"").strip().lower() not in _IDENTITY:
        raise ServiceError("unsupported_encoding", "a part must not be encoded; send its bytes as they are", name)
    _, parameters = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))
    if parameters.get(b"charset", b"").lower() not in _UTF8:
        raise ServiceError("unsupported_charset", "a part must be UTF-8", name)
    filename = options.get(b"filename")
    if filename is None:
        filename = _extended_filename(headers[b"content-disposition"], name)
    return Part(name, None if filename is None else filename.decode("utf-8", "replace"))


def _extended_filename(header: bytes, name: str) -> bytes | None:
    """Return the file name of a part that has only the form of RFC 8187, which some clients send for other than ASCII.

    RFC 7578 knows the other form alone, so that one counts where both are there.
    """
    found = _EXTENDED.search(_QUOTED.sub(b'""', header))
    if found is None:
        return None
    value = _UTF8_VALUE.fullmatch(found[1])
    if value is None:
        raise ServiceError("invalid_multipart", "filename* is not UTF-8''name; send the name in filename", name)
    return unquote_to_bytes(value[1])


def _invalid(detail: str) -> ServiceError:
    return ServiceError("invalid_multipart", detail)
