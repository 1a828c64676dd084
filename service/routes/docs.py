"""``GET /openapi.json``, and ``GET /docs``: the same on one page, without anything from another server.

Each is written once, for whoever asks for them has no key, and in a thread: the first time takes half a second.
"""

from __future__ import annotations

from functools import cache

import orjson
from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from service.routes.docs_page import POLICY, page
from service.state import State


def mount(app: FastAPI, _: State) -> None:
    """Declare the route."""

    @cache
    def document() -> bytes:
        return orjson.dumps(app.openapi())

    @app.get("/openapi.json", include_in_schema=False)
    def openapi() -> Response:
        return Response(document(), media_type="application/json")

    @cache
    def written() -> str:
        return page(app.openapi())

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(written(), headers={"content-security-policy": POLICY})
