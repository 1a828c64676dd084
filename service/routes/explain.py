"""``POST /explain``: the steps from a text to its ids."""

from __future__ import annotations

from fastapi import FastAPI

from service.errors import from_core
from service.http.response_json import Answer, write
from service.routes.json_route import post
from service.schemas.explaining import ExplainAnswer, ExplainRequest
from service.state import ServerState
from tokenizer_core import TokdError


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(app, state, "/explain", explain, ExplainRequest, ExplainAnswer)


def explain(state: ServerState, body: ExplainRequest) -> Answer:
    """Show how a text becomes ids: the merges of each piece by rank, its longest matches, or its lattice."""
    loaded = state.registry.get(body.tokenizer)
    try:
        pieces = loaded.explainer().explain(body.text)
    except TokdError as error:
        raise from_core(error, str(error.place.get("field", "text"))) from error
    return write(loaded, body.text, {"pieces": [pieces]}, sum(len(piece["ids"]) for piece in pieces))
