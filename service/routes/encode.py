"""``POST /encode``: text to ids, as JSON, bare bytes or Arrow."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import FastAPI

from service.answers import chats, encoding
from service.errors import ServiceError
from service.http import media, response_arrow, response_binary
from service.http.fast_path import PlainTexts
from service.http.json_body import parser, require_json
from service.http.response_json import Answer, Writer, write
from service.request_log import Headers
from service.routes.json_route import PROBLEM_RESPONSES, FormatHandler, Negotiate, Responses, post
from service.schemas.answers import EncodeAnswer
from service.schemas.requests import EncodeRequest
from service.state import State

_BYTES = {"schema": {"type": "string", "format": "binary"}}
RESPONSES: Responses = {
    200: {"description": "As `accept` asks for.", "content": {media.OCTETS: _BYTES, media.ARROW: _BYTES}},
    **PROBLEM_RESPONSES,
}
_WRITERS: dict[str, Writer] = {
    media.JSON: write,
    media.OCTETS: response_binary.write,
    media.ARROW: response_arrow.write,
}


def _require_nothing(_: bytes) -> None:
    """Take any media type: the handler was chosen by it."""


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    registry, max_ids, threads = state.registry, state.settings.max_ids, state.limits.threads
    plain = PlainTexts("encode", registry, state.settings, threads)

    def answer_as(writer: Writer, body: EncodeRequest) -> Answer:
        if body.messages is not None:
            return chats.encode(registry.get(body.tokenizer), body, state.settings, writer)
        return encoding.encode(registry.get(body.tokenizer), body, max_ids=max_ids, threads=threads, writer=writer)

    negotiate = negotiator(state, answer_as)

    @post(
        app,
        "/encode",
        state.requests.to_encode,
        EncodeAnswer,
        state,
        responses=RESPONSES,
        plain=plain,
        negotiate=negotiate,
        other_bodies={media.ARROW: _BYTES},
    )
    def encode(body: EncodeRequest) -> Answer:
        """Turn text into ids, with masks, spans and labels as asked for, cut and padded as asked for."""
        return answer_as(write, body)


def negotiator(state: State, answer_as: Any) -> Negotiate:
    """Return what finds the handler of a request by the formats of its body and of the answer that it accepts."""
    parse = parser(state.requests.to_encode)
    max_items = state.settings.max_items
    has_arrow = response_arrow.is_there()
    offers = (media.JSON, media.OCTETS, media.ARROW) if has_arrow else (media.JSON, media.OCTETS)
    handlers: dict[tuple[str, str], FormatHandler | None] = {
        (sent, wanted): FormatHandler(
            partial(response_arrow.read, parse=parse, max_items=max_items) if sent == media.ARROW else parse,
            partial(answer_as, _WRITERS[wanted]),
            _require_nothing if sent == media.ARROW else require_json,
            media.ARROW in (sent, wanted),
        )
        for sent in (media.JSON, media.ARROW)
        for wanted in offers
    }
    handlers[media.JSON, media.JSON] = None

    def negotiate(headers: Headers) -> FormatHandler | None:
        if media.is_json(headers):
            return None
        wanted = media.wanted(headers, offers)
        sent = media.sent(headers)
        if sent == media.ARROW_FILE:
            detail = f"the body is a file of Arrow; write it in the stream format and send it as {media.ARROW}"
            raise ServiceError("unsupported_media_type", detail, "header content-type")
        if sent != media.ARROW:
            # A body that is neither Arrow nor JSON is refused where bodies of JSON are checked.
            return handlers[media.JSON, wanted]
        if not has_arrow:
            raise ServiceError(
                "unsupported_media_type",
                "this server has no pyarrow; install tokd[arrow] there, or send JSON",
                "header content-type",
                headers=((b"accept", b"application/json"),),
            )
        return handlers[media.ARROW, wanted]

    return negotiate
