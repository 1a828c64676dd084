"""Compressed bodies: gzip and zstd, in and out.

A caller says with ``content-encoding`` how its body is compressed, and with ``accept-encoding`` how an answer may be.
Both are work of threads, and no body is decompressed further than one may be large.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from service.errors import ServiceError
from service.http.media import weights
from service.http.response_json import Block
from service.request_log import Headers

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Coding = Literal["zstd", "gzip"]

CODINGS: tuple[Coding, ...] = ("zstd", "gzip")
"""In the order of preference: zstd compresses several times as fast."""

_LEVEL = 1
_GZIP = 16 + zlib.MAX_WBITS
_WINDOW: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
"""The most memory of a frame's window, 8 MiB, as RFC 9659 has it for HTTP."""

_ZSTD_STEP = 512
"""Bytes that are decompressed at once: a block of four bytes may become 128 KiB."""

_GZIP_STEP = 1 << 20

_PLAIN = (b"", b"identity")
_ACCEPTED = (b"accept-encoding", ", ".join(CODINGS).encode("ascii"))


def body_coding(headers: Headers) -> Coding | None:
    """Return how a body is compressed; ``None`` if it is not.

    Errors:
        ``unsupported_encoding``
    """
    named = [value.strip().lower() for name, value in headers if name == b"content-encoding"]
    named = [value for value in named if value not in _PLAIN]
    if not named:
        return None
    for coding in CODINGS:
        if named in ([coding.encode("ascii")], [b"x-" + coding.encode("ascii")]):
            return coding
    detail = f"the body is packed in a way that is not read here; send it as it is, or as {' or '.join(CODINGS)}"
    raise ServiceError("unsupported_encoding", detail, "header content-encoding", headers=(_ACCEPTED,))


def require_uncompressed(headers: Headers) -> None:
    """Refuse a compressed body, of a route that reads bodies as they come.

    Errors:
        ``unsupported_encoding``
    """
    if any(name == b"content-encoding" and value.strip().lower() not in _PLAIN for name, value in headers):
        detail = "the body is packed; send it as it is, without content-encoding"
        raise ServiceError(
            "unsupported_encoding", detail, "header content-encoding", headers=((b"accept-encoding", b"identity"),)
        )


def answer_coding(headers: Headers) -> Coding | None:
    """Return how the caller would like a large answer compressed, or ``None``."""
    found = weights(headers, b"accept-encoding")
    anything = found.get("*", 0.0)
    best = max(CODINGS, key=lambda coding: found.get(coding, anything))
    weight = found.get(best, anything)
    return best if weight > 0 and weight >= found.get("identity", 0.0) else None


def decompress(coding: Coding, chunks: list[bytes], most: int) -> bytes:
    """Decompress a body.

    Errors:
        ``body_too_large``: it has more than ``most`` bytes. ``invalid_encoding``: it is damaged or cut short.
    """
    parts, size = [], 0
    try:
        for part in _DECOMPRESS[coding](chunks):
            parts.append(part)
            size += len(part)
            if size > most:
                raise ServiceError("body_too_large", f"the body unpacks to more than {most} bytes; send it in parts")
    except (zlib.error, zstd.ZstdError, EOFError) as error:
        detail = f"the body is not {coding}, as content-encoding says, or it is damaged or cut short"
        raise ServiceError("invalid_encoding", detail, "header content-encoding") from error
    return b"".join(parts)


def compress(coding: Coding, blocks: Iterable[Block]) -> list[Block]:
    """Compress an answer."""
    compressor: Any = zstd.ZstdCompressor(_LEVEL) if coding == "zstd" else zlib.compressobj(_LEVEL, wbits=_GZIP)
    made = [compressor.compress(block if isinstance(block, bytes) else block.data) for block in blocks]
    return [part for part in (*made, compressor.flush()) if part]


def _ungzip(chunks: list[bytes]) -> Iterator[bytes]:
    member, is_begun = zlib.decompressobj(_GZIP), False
    for data in chunks:
        while data:
            is_begun = True
            yield member.decompress(data, _GZIP_STEP)
            data = member.unconsumed_tail
            if member.eof:
                data, member, is_begun = member.unused_data, zlib.decompressobj(_GZIP), False
    if is_begun:
        raise EOFError


def _unzstd(chunks: list[bytes]) -> Iterator[bytes]:
    frame = None
    for chunk in chunks:
        for start in range(0, len(chunk), _ZSTD_STEP):
            data = chunk[start : start + _ZSTD_STEP]
            while data:
                frame = frame or zstd.ZstdDecompressor(options=_WINDOW)
                yield frame.decompress(data)
                data = b""
                if frame.eof:
                    data, frame = frame.unused_data, None
    if frame is not None:
        raise EOFError


_DECOMPRESS: dict[Coding, Callable[[list[bytes]], Iterator[bytes]]] = {"gzip": _ungzip, "zstd": _unzstd}
