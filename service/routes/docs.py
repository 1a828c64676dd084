"""``GET /openapi.json``, and ``GET /docs``: the same on one page, without anything from another server.

Each is written once, for whoever asks for them has no key, and in a thread: the first time takes half a second.
"""

from __future__ import annotations

from functools import cached_property

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from service.routes.docs_page import page
from service.routes.playground import POLICY
from service.state import State


class Pages:
    """What is written of an application."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    @cached_property
    def json(self) -> bytes:
        """The OpenAPI document."""
        return orjson.dumps(self._app.openapi())

    @cached_property
    def html(self) -> str:
        """The page for readers."""
        return page(self._app.openapi())


def openapi(request: Request) -> Response:
    """Give the OpenAPI document."""
    return Response(request.app.state.pages.json, media_type="application/json")


def docs(request: Request) -> HTMLResponse:
    """Give the page for readers."""
    return HTMLResponse(request.app.state.pages.html, headers={"content-security-policy": POLICY})


def mount(app: FastAPI, _: State) -> None:
    """Declare the routes."""
    app.state.pages = Pages(app)
    app.get("/openapi.json", include_in_schema=False)(openapi)
    app.get("/docs", include_in_schema=False)(docs)
