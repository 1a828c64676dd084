"""``POST /render``: a chat to text."""

from __future__ import annotations

from fastapi import FastAPI

from service.answers import chats
from service.http.response_json import Answer
from service.routes.json_route import post
from service.schemas.answers import RenderAnswer
from service.schemas.requests import RenderRequest
from service.state import State


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    registry = state.registry

    @post(app, "/render", state.requests.to_render, RenderAnswer, state)
    def render(body: RenderRequest) -> Answer:
        """Render a chat by the tokenizer's template, and say what of the text the caller wrote."""
        return chats.render(registry.get(body.tokenizer), body, state.settings)
