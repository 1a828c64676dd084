"""``POST /count``: text to the number of its ids."""

from __future__ import annotations

from fastapi import FastAPI

from service.answers import chats, encoding
from service.http.fast_path import PlainTexts
from service.http.response_json import Answer
from service.routes.json_route import post
from service.schemas.answers import CountAnswer
from service.schemas.requests import CountRequest
from service.state import State


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    registry = state.registry
    plain = PlainTexts("count", registry, state.settings, state.limits.threads)

    @post(app, "/count", state.requests.to_count, CountAnswer, state, plain=plain)
    def count(body: CountRequest) -> Answer:
        """Count the ids of text, without building them: as many as `/encode` gives."""
        if body.messages is not None:
            return chats.count(registry.get(body.tokenizer), body, state.settings)
        return encoding.count(registry.get(body.tokenizer), body)
