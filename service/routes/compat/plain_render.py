"""Plain requests to ``/v1/chat/completions/render``: the kernel makes the ids, and the rest of a body is small."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from uuid import uuid4

from service.errors import ServiceError
from service.http.fast_path import FastAnswers
from service.http.json_body import parser
from service.http.plain_chats import Chats
from service.http.response_json import Answer
from service.registry.engines import Engines
from service.registry.registry import Unopened
from service.registry.served import ServedTokenizer
from service.request_log import Headers
from service.routes.compat import generation
from service.routes.compat.generation import Frame
from service.routes.compat.generation_models import GenerationFields
from service.state import ServerState

MOST_FRAMES = 256
"""Kinds of requests that are remembered: clients send the same parameters of sampling again and again."""

MOST_CACHED_BYTES = 2 << 10
"""Of what is remembered of one, as it was sent."""


class PlainRender(FastAnswers):
    """Answers requests of one id; what it leaves to the model is as with ``PlainRequests``.

    Args:
        model: of the body.
        sent_id: the id that the headers name.
    """

    def __init__(self, state: ServerState, model: type[GenerationFields], sent_id: str = "") -> None:
        self._current, self._sent_id = state.current, sent_id
        self._chats = Chats(state.settings, state.engines)
        self._parse = parser(model)
        self._framed = lru_cache(MOST_FRAMES)(self._frame)

    def for_request(self, headers: Headers) -> FastAnswers:
        """Return what answers a request with the id that its headers name."""
        sent = generation.sent_id(headers)
        if not sent:
            return self
        named = copy(self)
        named._sent_id = sent
        return named

    def answer(self, body: bytes, *, may_take_long: bool, key: str = "") -> Answer | None:
        """Answer a body; see ``FastAnswers``."""
        try:
            return self._answer(body, may_take_long, key)
        except (ServiceError, Unopened):
            # The model finds the same, and says it.
            return None

    def _answer(self, body: bytes, may_take_long: bool, key: str) -> Answer | None:
        state = self._current.state
        loaded, model = state.registry.default, None
        options = self._chats.options(loaded, body, model, may_take_long, key)
        given = options and loaded.chats.render(body, model, **options)
        if isinstance(given, str):
            loaded, model = state.registry.of_model(given), given
            options = self._chats.options(loaded, body, model, may_take_long, key)
            given = options and loaded.chats.render(body, model, **options)
        if given is None or isinstance(given, str):
            return None
        ids, count, rest = given
        make = self._framed if len(rest) <= MOST_CACHED_BYTES else self._frame
        found = make(state.engines, loaded, rest)
        if found is None:
            return None
        frame, own_id = found
        return frame.fill(loaded, f"chatcmpl-{self._sent_id or own_id or uuid4().hex}", ids, count)

    def _frame(self, engines: Engines, loaded: ServedTokenizer, rest: bytes) -> tuple[Frame, str | None] | None:
        """Return what the answer is but for the ids, and the id of the request that the body has."""
        fields = self._parse(b'{%b"messages":[]}' % rest)
        choice = getattr(fields, "tool_choice", None)
        if (
            fields.truncate_prompt_tokens is not None
            or fields.return_token_offsets
            or fields.block_hashes is not None
            or fields.echo
            or isinstance(choice, dict)
            or (choice not in (None, "none") and getattr(fields, "tools", None) is None)
        ):
            return None
        return generation.frame(engines, loaded, fields), fields.request_id
