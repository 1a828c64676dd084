"""``POST /render``: a chat to text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import FastAPI

from service.http.response_json import Answer, report_bytes, write
from service.routes import chats
from service.routes.json_route import post
from service.schemas.answers import RenderAnswer
from service.schemas.requests import RenderRequest
from service.state import ServerState
from tokenizer_core import Span


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(app, state, "/render", render, RenderRequest, RenderAnswer)


def render(state: ServerState, body: RenderRequest) -> Answer:
    """Render a chat by the tokenizer's template, and say what of the text the caller wrote."""
    loaded = state.registry.get(body.tokenizer)
    rendered = []
    for chat, _ in chats.render(
        loaded, chats.chats_of(body), unused=body.unused, **chats.options(body, state.settings)
    ):
        rendered.append(chat)
        report_bytes(chats.size(chat))
    fields: dict[str, Iterable[Any]] = {
        "text": [each.text for each in rendered],
        "spans": (_Spans(each.spans) for each in rendered),
        **chats.unused(body, rendered),
    }
    return write(loaded, chats.shape(body), fields, 0, template=rendered[0].template)


class _Spans:
    """The spans of a chat as objects, which are made as they are written."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans

    def __len__(self) -> int:
        return len(self._spans)

    def __getitem__(self, part: slice) -> list[dict[str, Any]]:
        return [span._asdict() for span in self._spans[part]]
