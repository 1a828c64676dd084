"""The arguments that both kinds of client pass to httpx, and the reading of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import httpx
import orjson

from service.client import calls
from service.client.arguments import headers_of, timeout_of, url_of
from service.client.call import Call
from service.client.errors import Unreachable, from_answer, not_tokd
from service.http.media import JSON
from tokenizer_core import InvalidOption

T = TypeVar("T")

QUIET_SECONDS = 60.0
"""Seconds of silence after which a stream of events is taken for lost."""


def connection_of(
    url: str, timeout: float, headers: Mapping[str, str] | None, key: str | None, concurrency: int
) -> dict[str, Any]:
    """Check what both kinds of client are given, and return it as both of httpx's take it."""
    return {
        "base_url": url_of(url),
        # A request has its turn when it wants a connection, and streams of events are few: none waits for another.
        "timeout": httpx.Timeout(timeout_of(timeout), pool=None),
        "limits": httpx.Limits(max_connections=None, max_keepalive_connections=concurrency),
        "headers": headers_of(headers, key),
    }


def stream_timeout(timeout: float) -> httpx.Timeout:
    """Return the timeouts of a stream of events, which may be quiet for a quarter of a minute."""
    seconds = timeout_of(timeout)
    return httpx.Timeout(seconds, read=max(seconds, QUIET_SECONDS), pool=None)


def request_of(http: httpx.Client | httpx.AsyncClient, call: Call[Any], files: ExitStack) -> httpx.Request:
    """Return what httpx sends; what is opened for it is closed with ``files``."""
    require_open(http)
    content = _body(call, files)
    content["headers"] = {**content.get("headers", {}), **(call.headers or {})}
    try:
        return http.build_request(call.method, call.path, **content)
    except httpx.InvalidURL as error:
        raise InvalidOption(f"the request has no URL: {error}") from error


def require_open(http: httpx.Client | httpx.AsyncClient) -> None:
    """Refuse to send with a client that is closed.

    Raises:
        Unreachable
    """
    if http.is_closed:
        raise Unreachable("the client is closed; open another")


def _body(call: Call[Any], files: ExitStack) -> dict[str, Any]:
    if call.form is not None:
        parts: list[tuple[str, Any]] = [(name, (None, data)) for name, data in call.form.items()]
        parts += [("corpus", (_file_name(path), files.enter_context(path.open("rb")))) for path in call.files]
        return {"files": parts}
    if call.body is None:
        return {}
    if isinstance(call.body, bytes):
        return {"content": call.body, "headers": {"content-type": call.accept, "accept": call.accept}}
    return {"content": calls.to_json(call.body), "headers": {"content-type": JSON, "accept": call.accept}}


def _file_name(path: Path) -> str:
    # The name of a file is bytes that need not be UTF-8; in a form it must be text.
    return path.name.encode(errors="replace").decode()


def read(call: Call[T], answer: httpx.Response) -> T:
    """Read an answer, or raise what it says is wrong.

    Raises:
        TokdError
    """
    if answer.status_code == 204:
        return call.read(None)
    if answer.status_code in (200, 201, 202):
        is_json = call.accept == JSON
        if not is_json and answer.headers.get("content-type") != call.accept:
            # Any bytes could be read as ids or as an archive.
            raise not_tokd(answer)
        try:
            return call.read(orjson.loads(answer.content) if is_json else answer)
        except (orjson.JSONDecodeError, KeyError, AttributeError, TypeError, ValueError) as error:
            raise not_tokd(answer) from error
    raise from_answer(answer)
