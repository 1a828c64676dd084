"""Answers to pages of other sites, which browsers hand on only where the server lists the site (CORS)."""

from __future__ import annotations

import re

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import quote
from service.setting_values import InvalidSetting

ANY = "*"
"""As an origin: every site."""

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")

_METHODS = ("GET", "POST", "PUT", "DELETE")
_SENT = ("authorization", "content-encoding", "traceparent", "x-request-deadline-ms", "x-request-id")
_READ = ("location", "retry-after", "tokd-fingerprint", "tokd-row-lengths", "traceparent", "x-request-id")
_SECONDS = 600
"""Seconds for which a browser remembers its permissions."""


def open_to(origins: tuple[str, ...], app: ASGIApp) -> ASGIApp:
    """Let pages of these origins read answers; without any, nothing changes. Keys come in a header, never as cookies.

    Raises:
        InvalidSetting: what is listed is no origin.
    """
    for origin in origins:
        if origin != ANY and _ORIGIN.fullmatch(origin) is None:
            wrong = f"has {quote(origin)}; an origin is such as https://app.example.com, without a path, or *"
            raise InvalidSetting("cors_origins", wrong)
    if not origins:
        return app
    opened = CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=_METHODS,
        allow_headers=_SENT,
        expose_headers=_READ,
        max_age=_SECONDS,
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                # The middleware answers a preflight itself.
                scope["log_entry"].status = message["status"]
            await send(message)

        await opened(scope, receive, noted if scope["method"] == "OPTIONS" else send)

    return answer
