"""``POST /count``: text or chats to the number of their ids."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from service.http.plain_chats import PlainTextsOrChats
from service.http.response_json import Answer, report_bytes, write
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.json_route import post
from service.routes.texts import about_text, require_text, seconds_of, texts_of
from service.schemas.answers import CountAnswer
from service.schemas.requests import CountRequest
from service.settings import Settings
from service.state import ServerState
from tokenizer_core import TokdError


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    plain = PlainTextsOrChats("count", state.current.registry, state.settings, state.limits.threads)
    post(app, state, "/count", count, CountRequest, CountAnswer, plain=plain)


def count(state: ServerState, body: CountRequest) -> Answer:
    """Count the ids of text, without building them: as many as `/encode` gives."""
    loaded = state.registry.get(body.tokenizer)
    return _count_texts(loaded, body) if body.messages is None else _count_chats(loaded, body, state.settings)


def _count_texts(loaded: ServedTokenizer, request: CountRequest) -> Answer:
    require_text(request)
    tokenizer, counts, seconds = loaded.tokenizer, [], seconds_of(request)
    options: Any = {"special_tokens": request.special_tokens, "add_special_tokens": request.add_special_tokens}
    for index, text in enumerate(texts_of(request)):
        try:
            if seconds is None:
                counts.append(tokenizer.count(text, **options))
            else:
                counts.append(tokenizer.count_pair(text, seconds[index], **options))
        except TokdError as error:
            error.place.setdefault("row", index)
            raise about_text(error, request, index) from error
    return write(loaded, request.text, {"count": counts}, sum(counts))


def _count_chats(loaded: ServedTokenizer, request: CountRequest, settings: Settings) -> Answer:
    counts, unused, template = [], [], ""
    for chat in chats.encode(loaded, request, settings):
        # Nothing of the chat is kept, but a report is where the request can be ended between two chats.
        report_bytes(0)
        counts.append(len(chat.ids))
        unused += chats.unused(request, [chat.rendered]).get("unused", [])
        template = chat.rendered.template
    fields: dict[str, list[Any]] = {"count": counts, **({"unused": unused} if unused else {})}
    return write(loaded, chats.shape(request), fields, sum(counts), template=template)
