"""What a caller gives to a client, in the forms that HTTP takes, or refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from tokenizer_core import InvalidOption, InvalidUnicode

SURROGATE = "a text holds a lone surrogate, which no Unicode text has; replace it"


def address(url: str) -> httpx.URL:
    """Read where the service listens.

    Raises:
        InvalidOption
    """
    try:
        return httpx.URL(url)
    except (httpx.InvalidURL, UnicodeEncodeError, TypeError) as error:
        raise InvalidOption(f"url is {url!r}, which is no URL: {error}", field="url") from error


def headers_of(headers: Mapping[str, str] | None, key: str | None) -> dict[str, str]:
    """Return the headers of every request.

    Raises:
        InvalidOption
    """
    given = {header(name, "headers"): header(value, "headers") for name, value in (headers or {}).items()}
    if key is not None:
        given["authorization"] = f"Bearer {header(key, 'key')}"
    return given


def header(value: Any, field: str) -> str:
    """Return what goes into a header.

    Raises:
        InvalidOption
    """
    if not (isinstance(value, str) and value.isascii() and value.isprintable() and value.strip() == value):
        # The value may be a key, which nobody wants in a log.
        raise InvalidOption(f"{field} goes into a header: printable ASCII with no space around it", field=field)
    return value


def in_path(value: str, field: str) -> str:
    """Return what stands in a path or a query, escaped.

    Raises:
        InvalidUnicode
    """
    return quote(encoded(value, field), safe="")


def encoded(value: str, field: str) -> bytes:
    """Return a text as UTF-8.

    Raises:
        InvalidUnicode
    """
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise InvalidUnicode(SURROGATE, field=field) from error
