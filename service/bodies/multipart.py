"""A ``multipart/form-data`` body, taken apart while it arrives: what a part holds goes to a sink, never into memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote_to_bytes

from python_multipart.multipart import parse_options_header

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
_BLANK = b"\r\n\r\n"
_MAX_BLOCK = MAX_HEADERS * MAX_HEADER_BYTES
_HEADER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\x00]*)")

_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
_EXTENDED = re.compile(rb";[ \t]*filename\*([^;]*)", re.IGNORECASE)
_UTF8_VALUE = re.compile(
    rb"[ \t]*=[ \t]*utf-8'[^']*'((?:[!#$&+\-.^_`|~0-9A-Za-z]|%[0-9A-Fa-f]{2})+)[ \t]*", re.IGNORECASE
)
"""Of RFC 8187, section 3.2.1."""


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

    Where a delimiter ends matters as much as where it begins: the CRLF of the blank line below a part's headers may be
    the delimiter's own (RFC 2046, section 5.1.1), and then the part is empty.

    Args:
        begin: called with every part; returns where its content goes.
        max_parts: more are refused.
    """

    def __init__(self, boundary: bytes, begin: Callable[[Part], Sink], *, max_parts: int) -> None:
        self._delimiter = b"--" + boundary
        line = re.escape(self._delimiter)
        self._ends_part = re.compile(rb"\r\n" + line + rb"(?=--|\r\n|[ \t])")
        self._misplaced = re.compile(rb"(?<!\r\n)" + line + rb"(?:--)?[\r\n]|" + line + rb"(?:\n|\r[^\n])")
        self._begin = begin
        self._max_parts = max_parts
        self._parts = 0
        # A delimiter begins a line, as the beginning of the body does.
        self._rest = b"\r\n"
        self._step = self._skip_preamble
        self._sink: Sink
        self._at = 0
        self._seen = b""

    def feed(self, data: bytes) -> None:
        """Take some more of the body.

        Errors:
            ``invalid_multipart``, ``too_many_parts``, and what ``begin`` and the sinks raise.
        """
        self._rest += data
        while self._step():
            pass

    def finish(self) -> None:
        """Take note that the body is complete.

        Errors:
            ``invalid_multipart``: it is cut short.
        """
        if self._step not in (self._begin_epilogue, self._skip_epilogue):
            raise _invalid("the body ends before its closing boundary")

    def _skip_preamble(self) -> bool:
        most = len(b"\r\n" + self._delimiter) + MAX_PREAMBLE
        at = self._rest.find(self._delimiter, 0, most)
        if at >= 0:
            if not self._rest.startswith(b"\r\n", at - 2):
                raise _invalid(f"its boundary is first at byte {at - 2}, where no line begins; {_CRLF}")
            self._rest = self._rest[at + len(self._delimiter) :]
            self._step = self._read_headers
            return True
        if len(self._rest) >= most:
            raise _invalid(f"its boundary is not in the first {MAX_PREAMBLE} bytes of the body")
        return False

    def _read_headers(self) -> bool:
        """Read from behind a delimiter to the end of the headers."""
        if self._rest.startswith(b"--"):
            self._rest = self._rest[2:]
            self._step = self._begin_epilogue
            return True
        end = self._rest.find(_BLANK, 0, _MAX_BLOCK)
        if end < 0:
            if len(self._rest) >= _MAX_BLOCK:
                raise _invalid("the headers of a part are too long")
            return False
        padding, *lines = self._rest[:end].split(b"\r\n")
        if padding.strip(b" \t"):
            raise _invalid(f"its boundary is followed by other characters; {_CRLF}")
        self._parts += 1
        if self._parts > self._max_parts:
            raise ServiceError("too_many_parts", f"the body has more than {self._max_parts} parts; send fewer")
        if any(line.startswith(self._delimiter) for line in lines):
            raise _invalid("a part ends within its headers; a blank line ends them")
        self._sink = self._begin(_part(_headers(lines)))
        # The CRLF of the blank line is not content, but is kept: a delimiter may begin with it.
        self._rest = self._rest[end + len(b"\r\n") :]
        self._at, self._seen = len(b"\r\n"), b""
        self._step = self._read_content
        return True

    def _read_content(self) -> bool:
        found = self._ends_part.search(self._rest)
        if found is None:
            # What may yet be a delimiter waits, with all but the last of the two bytes that tell how it ends.
            end = len(self._rest) - len(b"\r\n" + self._delimiter + b"-")
            self._refuse_misplaced(self._seen + self._rest)
        else:
            end = found.start()
            self._refuse_misplaced(self._seen + self._rest[: end + len(b"\r\n")])
        if end > self._at:
            self._sink.write(self._rest[self._at : end])
        if found is not None:
            self._sink.close()
            self._rest = self._rest[found.end() :]
            self._step = self._read_headers
        elif end > self._at:
            self._seen = (self._seen + self._rest[:end])[-len(b"\r\n" + self._delimiter + b"--") :]
            self._rest, self._at = self._rest[end:], 0
        return found is not None

    def _refuse_misplaced(self, seen: bytes) -> None:
        """Refuse a part that runs on over a line that was meant to end it, and would swallow what follows."""
        if self._delimiter in seen and self._misplaced.search(seen):
            raise _invalid(f"its boundary ends a line that is not a delimiter; {_CRLF}")

    def _begin_epilogue(self) -> bool:
        if not self._rest:
            return False
        if self._rest[:1] not in b"\r\n \t":
            raise _invalid(f"its closing boundary is followed by other characters; {_CRLF}")
        self._seen = b""
        self._step = self._skip_epilogue
        return True

    def _skip_epilogue(self) -> bool:
        """Refuse a boundary behind the closing one, which then stood in a file whose rest would be lost."""
        seen = self._seen + self._rest
        if self._delimiter in seen:
            raise _invalid("its boundary comes again behind the closing one")
        self._seen, self._rest = seen[1 - len(self._delimiter) :], b""
        return False


def _headers(lines: list[bytes]) -> dict[bytes, bytes]:
    if len(lines) > MAX_HEADERS:
        raise _invalid(f"a part has more than {MAX_HEADERS} headers")
    found = {}
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None or len(line) > MAX_HEADER_BYTES:
            raise _invalid(f"a part has a line that is not a header of at most {MAX_HEADER_BYTES} bytes: name: value")
        name = header[1].lower()
        if name in found:
            raise _invalid("a part has a header twice")
        found[name] = header[2]
    return found


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
