"""The head of a request: what is checked of it before anything else, and its scope of ASGI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from httptools import HttpRequestParser, parse_url

from service.errors import ServiceError

MAX_HEAD_BYTES = 64 << 10
"""Bytes that may arrive without a body making progress: the request line, headers, trailers."""

_HOST = re.compile(rb"(\[[-!$&'()*+,.0-9:;=A-Z_a-z~%]+\]|([-!$&'()*+,.0-9;=A-Z_a-z~]|%[0-9A-Fa-f]{2})*)(:[0-9]*)?")
"""``uri-host [ ":" port ]`` of RFC 9110, section 7.2."""

_NO_PATH = re.compile(rb"\Ahttps?://[^/?#]+(?=\?|\Z)", re.IGNORECASE)
"""Of a URL whose path is empty, which is the path ``/`` (RFC 9110, section 4.2.3)."""


def too_large() -> ServiceError:
    """Say that a head is larger than one may be."""
    detail = f"the head of the request is larger than {MAX_HEAD_BYTES} bytes; send less in the URL and headers"
    return ServiceError("head_too_large", detail)


def not_http() -> ServiceError:
    """Say that something is no request."""
    return ServiceError("invalid_http", "this is not an HTTP/1.1 request; send one that is")


def require_size(url: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    """Refuse a head that came in one piece with much else.

    Errors:
        ``head_too_large``
    """
    if len(url) + sum(len(name) + len(value) for name, value in headers) > MAX_HEAD_BYTES:
        raise too_large()


def require_one_host(hosts: Sequence[bytes], version: str) -> None:
    """Do what RFC 9112 wants in section 3.2, of which only HTTP/1.0 may have no host.

    Errors:
        ``invalid_http``
    """
    if len(hosts) > 1:
        wrong = "the request has several headers host"
    elif not hosts:
        wrong = "" if version == "1.0" else "the request has no header host"
    else:
        wrong = "" if _HOST.fullmatch(hosts[0]) else "the header host is not a name or address, with or without a port"
    if wrong:
        raise ServiceError("invalid_http", f"{wrong}; send one", "header host")


def scope_of(parser: HttpRequestParser, url: bytes, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """Return the scope of a request without its ends.

    Errors:
        ``invalid_http``: another version, which the parser takes as HTTP/0.9 and HTTP/2.0.
    """
    version = parser.get_http_version()
    if version not in ("1.0", "1.1"):
        raise not_http()
    parsed = parse_url(_NO_PATH.sub(rb"\g<0>/", url))
    path = parsed.path.decode("ascii")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": version,
        "method": parser.get_method().decode("ascii"),
        "scheme": "http",
        "path": unquote(path) if "%" in path else path,
        "raw_path": parsed.path,
        "root_path": "",
        "query_string": parsed.query or b"",
        "headers": headers,
    }


def without_offer(parser: HttpRequestParser, url: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the bytes of a head without its offer of another protocol."""
    kept = b"".join(b"%b: %b\r\n" % header for header in headers if header[0] != b"upgrade")
    return b"%b %b HTTP/%b\r\n%b\r\n" % (parser.get_method(), url, parser.get_http_version().encode("ascii"), kept)
