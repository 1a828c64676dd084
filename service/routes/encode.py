"""``POST /encode``: text to ids, as JSON, bare bytes or Arrow."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import FastAPI

from service.answers import arrow, chats, encoding, octets
from service.answers.shortcut import to_texts
from service.answers.writing import Answer, Writer, write
from service.bodies import media
from service.bodies.json_body import parser, require_json
from service.errors import ServiceError
from service.exchange import Headers
from service.routes.json_route import PROBLEM_RESPONSES, Choose, Responses, Way, post
from service.schemas.answers import EncodeAnswer
from service.schemas.requests import EncodeRequest
from service.state import State

_BYTES = {"schema": {"type": "string", "format": "binary"}}
RESPONSES: Responses = {
    200: {"description": "As `accept` asks for.", "content": {media.OCTETS: _BYTES, media.ARROW: _BYTES}},
    **PROBLEM_RESPONSES,
}
_WRITERS: dict[str, Writer] = {media.JSON: write, media.OCTETS: octets.write, media.ARROW: arrow.write}


def _take(_: bytes) -> None:
    """Take the media type by which the way was chosen."""


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    registry, max_ids, threads = state.registry, state.settings.max_ids, state.limits.threads
    shortcut = to_texts("encode", registry, state.settings, threads)

    def answer_as(writer: Writer, body: EncodeRequest) -> Answer:
        if body.messages is not None:
            return chats.encode(registry.get(body.tokenizer), body, state.settings, writer)
        return encoding.encode(registry.get(body.tokenizer), body, max_ids=max_ids, threads=threads, writer=writer)

    choose = chooser(state, answer_as)

    @post(
        app,
        "/encode",
        state.requests.to_encode,
        EncodeAnswer,
        state,
        responses=RESPONSES,
        shortcut=shortcut,
        choose=choose,
        other_bodies={media.ARROW: _BYTES},
    )
    def encode(body: EncodeRequest) -> Answer:
        """Turn text into ids, with masks, spans and labels as asked for, cut and padded as asked for."""
        return answer_as(write, body)


def chooser(state: State, answer_as: Any) -> Choose:
    """Return what finds the way of a request from the forms of its body and of the answer that is wanted."""
    parse = parser(state.requests.to_encode)
    max_items = state.settings.max_items
    has_arrow = arrow.is_there()
    offers = (media.JSON, media.OCTETS, media.ARROW) if has_arrow else (media.JSON, media.OCTETS)
    ways: dict[tuple[str, str], Way | None] = {
        (taken, given): Way(
            partial(arrow.read, parse=parse, max_items=max_items) if taken == media.ARROW else parse,
            partial(answer_as, _WRITERS[given]),
            _take if taken == media.ARROW else require_json,
            media.ARROW in (taken, given),
        )
        for taken in (media.JSON, media.ARROW)
        for given in offers
    }
    ways[media.JSON, media.JSON] = None

    def choose(headers: Headers) -> Way | None:
        if media.is_json(headers):
            return None
        given = media.wanted(headers, offers)
        taken = media.sent(headers)
        if taken != media.ARROW:
            # What is neither is refused where all bodies are.
            return ways[media.JSON, given]
        if not has_arrow:
            raise ServiceError(
                "unsupported_media_type",
                "this server has no pyarrow; install tokd[arrow] there, or send JSON",
                "header content-type",
                headers=((b"accept", b"application/json"),),
            )
        return ways[media.ARROW, given]

    return choose
