"""``POST /offsets``: text to ids and their places."""

from __future__ import annotations

from fastapi import FastAPI

from service.answers.offsets import offsets_of_chats, offsets_of_texts
from service.http.fast_path import PlainTexts
from service.http.response_json import Answer
from service.routes.json_route import post
from service.schemas.answers import OffsetsAnswer
from service.schemas.requests import OffsetsRequest
from service.state import State


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    registry = state.registry
    plain = PlainTexts("offsets", registry, state.settings, state.limits.threads)

    @post(app, "/offsets", state.requests.to_offsets, OffsetsAnswer, state, plain=plain)
    def offsets(body: OffsetsRequest) -> Answer:
        """Say where every token stands in the text, and which tokens overlap given spans."""
        if body.messages is not None:
            return offsets_of_chats(registry.get(body.tokenizer), body, state.settings)
        return offsets_of_texts(registry.get(body.tokenizer), body)
