"""``GET /docs``: the API on one page, without anything from another server."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from service.docs_page import POLICY, page
from service.state import State


def mount(app: FastAPI, _: State) -> None:
    """Declare the route."""

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page(app.openapi()), headers={"content-security-policy": POLICY})
