"""``POST /decode``: ids to text, whole or as a stream."""

from __future__ import annotations

from fastapi import FastAPI

from service.answers import decoding
from service.http.fast_path import PlainIds
from service.http.response_json import Answer
from service.routes.json_route import post
from service.schemas.answers import DecodeAnswer
from service.schemas.requests import DecodeRequest
from service.state import State


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    registry, max_ids = state.registry, state.settings.max_ids
    plain = PlainIds(registry, state.settings)

    @post(app, "/decode", state.requests.to_decode, DecodeAnswer, state, plain=plain)
    def decode(body: DecodeRequest) -> Answer:
        """Turn ids back into text. With `pending`, decode a stream: the server keeps nothing between two requests."""
        return decoding.decode(registry.get(body.tokenizer), body, max_ids=max_ids)
