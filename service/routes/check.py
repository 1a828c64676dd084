"""``GET /tokenizers/{ref:reference}/check``: the audit of a tokenizer that is loaded."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request

import tokenizer_core
from service.admission.threads import saturated
from service.registry.served import ServedTokenizer
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.server import Server
from service.routes.tokenizers import Reference, find
from service.schemas.answers import CheckAnswer
from service.state import ServerState

EmbeddingRows = Annotated[int | None, Query(ge=1, le=1 << 31, description="Rows of the model's embedding table.")]


async def check_tokenizer(
    request: Request, server: Server, ref: Reference, embedding_rows: EmbeddingRows = None
) -> Any:
    """Audit a tokenizer: what can go wrong, point by point, with the evidence. One audit runs at a time."""
    loaded = await find(server, ref)
    audits: asyncio.Lock = request.app.state.audits
    if audits.locked():
        raise saturated("another audit runs")
    async with audits:
        return await server.limits.in_thread(_audit, loaded, embedding_rows)


def _audit(loaded: ServedTokenizer, embedding_rows: int | None) -> dict[str, Any]:
    return tokenizer_core.check(loaded.tokenizer, path=loaded.path, embedding_rows=embedding_rows).to_dict()


def mount(app: FastAPI, _: ServerState) -> None:
    """Declare the route."""
    app.state.audits = asyncio.Lock()
    app.get("/tokenizers/{ref:reference}/check", response_model=CheckAnswer, responses=PROBLEM_RESPONSES)(
        check_tokenizer
    )
