"""Check a caller's arguments and convert them for httpx; every refusal names the argument."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from pathlib import Path, PurePath
from threading import TIMEOUT_MAX
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import numpy as np

from tokenizer_core import InvalidOption, InvalidUnicode

S = TypeVar("S")

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN = ("content-length", "content-type", "transfer-encoding")

SURROGATE = "a text holds a lone surrogate, which no Unicode text has; replace it"


def url_of(url: Any) -> httpx.URL:
    """Return the URL of the service.

    Raises:
        InvalidOption
    """
    if not isinstance(url, str | httpx.URL):
        raise InvalidOption(f"url is a string, not {type(url).__name__}", field="url")
    try:
        parsed = httpx.URL(url)
        # The labels of a name have 1 to 63 bytes; to look up another name would raise a UnicodeError.
        is_host = bool(parsed.host and parsed.raw_host.decode("ascii").encode("idna"))
    except (httpx.InvalidURL, UnicodeError) as error:
        raise InvalidOption(f"url is {url!r}, which is not a URL: {error}", field="url") from error
    if parsed.scheme not in ("http", "https") or not is_host:
        raise InvalidOption(f"url is {url!r}; it begins with http:// or https:// and a host", field="url")
    if parsed.port is not None and not 0 < parsed.port < 1 << 16:
        raise InvalidOption(f"url has the port {parsed.port}; there are those from 1 to 65535", field="url")
    if parsed.query:
        raise InvalidOption(f"url is {url!r}; it ends before the query", field="url")
    return parsed


def transport_of(transport: S, kind: type) -> S:
    """Return the transport of a client, or ``None`` for httpx's own.

    Raises:
        InvalidOption: it is not one for this kind of client.
    """
    if not isinstance(transport, kind | None):
        message = f"transport is an httpx.{kind.__name__}, not {type(transport).__name__}"
        raise InvalidOption(message, field="transport")
    return transport


def headers_of(headers: Any, key: str | None) -> dict[str, str]:
    """Return the headers of every request.

    Raises:
        InvalidOption
    """
    if not isinstance(headers, Mapping | None):
        raise InvalidOption(f"headers are values by name, not {type(headers).__name__}", field="headers")
    sent = {header(name, "headers"): header(value, "headers") for name, value in (headers or {}).items()}
    for name in sent:
        if not _NAME.fullmatch(name):
            raise InvalidOption("a name in headers has a space, a colon or another sign that none has", field="headers")
        if name.lower() in _OWN:
            raise InvalidOption(f"headers has {name}, which every request says itself; leave it out", field="headers")
    if key is not None:
        sent["authorization"] = f"Bearer {header(key, 'key')}"
    return sent


def header(value: Any, field: str) -> str:
    """Return the value of a header.

    Raises:
        InvalidOption
    """
    if not (isinstance(value, str) and value.isascii() and value.isprintable() and value.strip() == value):
        # The value may be a key, which nobody wants in a log.
        raise InvalidOption(f"{field} goes into a header: printable ASCII with no space around it", field=field)
    return value


def timeout_of(timeout: Any) -> float:
    """Return the timeout in seconds.

    Raises:
        InvalidOption: it is not a number above 0, or longer than Python can wait.
    """
    is_number = isinstance(timeout, Real) and not isinstance(timeout, bool)
    # A Fraction can be above 0 and yet so small that it is 0 as a float.
    if not is_number or not 0 < timeout <= TIMEOUT_MAX or not float(timeout):
        raise InvalidOption(f"timeout is a number of seconds above 0 and up to {TIMEOUT_MAX:.0f}", field="timeout")
    return float(timeout)


def whole_of(value: object, name: str, *, least: int | None = None) -> int:
    """Return a whole number that the client is made with.

    Raises:
        InvalidOption
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidOption(f"{name} is a whole number, not {type(value).__name__}", field=name)
    if least is not None and value < least:
        raise InvalidOption(f"{name} is {value}; it is at least {least}", field=name)
    return int(value)


def file_of(value: Any) -> Path:
    """Return the path of a file to send.

    Raises:
        InvalidOption: no file is called so.
    """
    try:
        path = Path(value)
        is_name = b"\0" not in os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        is_name = False
    if not is_name:
        raise InvalidOption(f"files are paths, which {value!r:.80} is not", field="files")
    return path


def several(values: S, field: str = "texts") -> S:
    """Refuse one string where several are meant: it would be sent as its characters, or its answer read wrongly.

    Raises:
        InvalidOption
    """
    given: Any = values
    kind = type(given).__name__
    if isinstance(given, str | bytes | PurePath):
        raise InvalidOption(f"{field} is a sequence, not one {kind}; put it into a list", field=field)
    try:
        is_sequence = bool(iter(given)) and not isinstance(given, Mapping)
    except TypeError:
        is_sequence = False
    if not is_sequence:
        raise InvalidOption(f"{field} is a sequence, not {kind}", field=field)
    return values


def one(text: object) -> str:
    """Refuse what is not one text: the answer for several would be read as that of one.

    Raises:
        InvalidOption
    """
    if not isinstance(text, str):
        kind = type(text).__name__
        raise InvalidOption(f"text is a string, not {kind}; several go to the method that ends in _batch", field="text")
    return text


def one_list(values: S, field: str, instead: str) -> S:
    """Refuse a list of lists where one list is meant: its answer would be read as that of one list.

    Raises:
        InvalidOption
    """
    given: Any = values
    is_list = given.ndim > 0 if isinstance(given, np.ndarray) else isinstance(given, Sequence)
    # Not a slice: some sequences, such as a deque, have none.
    first = islice(given, 1) if is_list else ()
    if any(isinstance(row, Sequence | np.ndarray) and not isinstance(row, str) for row in first):
        raise InvalidOption(f"{field} is one list, not a list of them; {instead}", field=field)
    return values


def in_path(value: object, field: str) -> str:
    """Return a value escaped for a path or a query.

    Raises:
        InvalidOption, InvalidUnicode
    """
    part = quote(encoded(value, field), safe="")
    if part in ("", ".", ".."):
        # In a path it would lead to another route.
        raise InvalidOption(f"{field} is {value!r}, which names nothing", field=field)
    return part


def encoded(value: object, field: str) -> bytes:
    """Return a text as UTF-8.

    Raises:
        InvalidOption, InvalidUnicode
    """
    if not isinstance(value, str):
        raise InvalidOption(f"{field} is a string, not {type(value).__name__}", field=field)
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise InvalidUnicode(SURROGATE, field=field) from error
