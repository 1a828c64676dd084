"""``GET /docs``: the API on one page, without anything from another server."""

from __future__ import annotations

from functools import cache

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from service.docs_page import POLICY, page
from service.state import State


def mount(app: FastAPI, _: State) -> None:
    """Declare the route."""

    @cache
    def written() -> str:
        return page(app.openapi())

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(written(), headers={"content-security-policy": POLICY})
