"""``GET /openapi.json``, and ``GET /docs``: the same on one page, without anything from another server.

Each is written once, for whoever asks for them has no key, and in a thread: the first time takes half a second.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from service.auth.route_scopes import need_of
from service.routes.docs_page import page
from service.routes.playground import POLICY
from service.state import ServerState


class Pages:
    """The documents about an application."""

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


def completed(document: dict[str, Any], schemas: dict[str, Any], state: ServerState, link_root: str) -> dict[str, Any]:
    """Add to what the framework writes what it does not know: more schemas, an example, the place and the keys."""
    document["components"]["schemas"] = schemas | document["components"]["schemas"]
    for operations in document["paths"].values():
        for parameter in (each for operation in operations.values() for each in operation.get("parameters", ())):
            if parameter["name"] == "ref":
                parameter["example"] = state.registry.default.name
    if link_root:
        document["servers"] = [{"url": link_root}]
    if state.guard.needs_keys:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                operation["security"] = [{"key": []}] if need_of(path, (method.upper(),)) else []
    return document


def openapi(request: Request) -> Response:
    """Give the OpenAPI document."""
    return Response(request.app.state.pages.json, media_type="application/json")


def docs(request: Request) -> HTMLResponse:
    """Give the page for readers."""
    return HTMLResponse(request.app.state.pages.html, headers={"content-security-policy": POLICY})


def mount(app: FastAPI, _: ServerState) -> None:
    """Declare the routes."""
    app.state.pages = Pages(app)
    app.get("/openapi.json", include_in_schema=False)(openapi)
    app.get("/docs", include_in_schema=False)(docs)
