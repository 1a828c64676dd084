"""``POST /compare``: tokenizers measured on the same texts."""

from __future__ import annotations

import orjson
from fastapi import FastAPI

from service.errors import ServiceError, from_core
from service.http.response_json import Answer, report_bytes
from service.registry.served import ServedTokenizer
from service.routes.json_route import post
from service.schemas.comparing import MAX_CHARACTERS, CompareAnswer, CompareRequest
from service.state import ServerState
from tokenizer_core import TokdError, compare


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(app, state, "/compare", compare_tokenizers, CompareRequest, CompareAnswer)


def compare_tokenizers(state: ServerState, body: CompareRequest) -> Answer:
    """Measure tokenizers: what each text costs with each, and how much of their vocabularies they use and share."""
    opened = [_opened(state, reference, at) for at, reference in enumerate(body.tokenizers or [None])]
    tokenizers = [each.tokenizer for each in opened]
    texts = body.texts and {name: [given] if isinstance(given, str) else given for name, given in body.texts.items()}
    each_text = [text for given in (texts or {}).values() for text in given]
    if len(each_text) > (most := state.settings.max_items):
        detail = f"there are {len(each_text)} texts, more than {most}; join short ones, or use tokd compare"
        raise ServiceError("too_many_items", detail, "texts")
    size = sum(map(len, each_text))
    if size > MAX_CHARACTERS:
        detail = f"the texts have {size} characters, more than {MAX_CHARACTERS}; send a part, or use tokd compare"
        raise ServiceError("too_many_items", detail, "texts")
    # Nothing is made between two texts, but there the work ends if nobody waits for it any more.
    try:
        found = compare(tokenizers, texts, context=body.context, on_step=lambda: report_bytes(0))
    except TokdError as error:
        raise from_core(error, "texts") from error
    tokens = sum(cost.tokens for costs in found.costs.values() for cost in costs if cost is not None)
    # One for each tokenizer, in their order.
    headers = tuple(header for each in opened for header in each.headers)
    return Answer([orjson.dumps(found.to_dict())], tokens, opened[0].hash, headers=headers)


def _opened(state: ServerState, reference: str | None, at: int) -> ServedTokenizer:
    try:
        return state.registry.get(reference)
    except ServiceError as error:
        error.path = f"tokenizers[{at}]"
        raise
