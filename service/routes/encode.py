"""``POST /encode``: text to ids."""

from __future__ import annotations

from fastapi import FastAPI

from service import chats, encoding
from service.answers import Answer
from service.routes.json_route import post
from service.schemas import EncodeAnswer, EncodeRequest
from service.shortcut import to_texts
from service.state import State


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    registry, limits = state.registry, state.limits
    max_ids, threads = state.settings.max_ids, limits.threads
    shortcut = to_texts("encode", registry, state.settings, threads)

    @post(app, "/encode", state.requests.to_encode, EncodeAnswer, limits, shortcut=shortcut)
    def encode(body: EncodeRequest) -> Answer:
        """Turn text into ids, with masks, spans and labels as asked for, cut and padded as asked for."""
        if body.messages is not None:
            return chats.encode(registry.get(body.tokenizer), body, state.settings)
        return encoding.encode(registry.get(body.tokenizer), body, max_ids=max_ids, threads=threads)
