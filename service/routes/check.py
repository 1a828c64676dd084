"""``GET /tokenizers/{ref}/check``: the audit of a tokenizer that is loaded."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query

import tokenizer_core
from service.admission.threads import saturated
from service.registry.served import ServedTokenizer
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.tokenizers import Reference, find
from service.schemas.answers import CheckAnswer
from service.state import State

EmbeddingRows = Annotated[int | None, Query(ge=1, le=1 << 31, description="Rows of the model's embedding table.")]


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    limits = state.limits
    checking = False

    def audit(loaded: ServedTokenizer, embedding_rows: int | None) -> dict[str, Any]:
        return tokenizer_core.check(loaded.tokenizer, path=loaded.path, embedding_rows=embedding_rows).to_dict()

    @app.get("/tokenizers/{ref:reference}/check", response_model=CheckAnswer, responses=PROBLEM_RESPONSES)
    async def check_tokenizer(ref: Reference, embedding_rows: EmbeddingRows = None) -> Any:
        """Audit a tokenizer: what can go wrong, point by point, with the evidence. One audit runs at a time."""
        nonlocal checking
        loaded = await find(state, ref)
        if checking:
            raise saturated("another audit runs")
        checking = True
        try:
            return await limits.in_thread(audit, loaded, embedding_rows)
        finally:
            checking = False
