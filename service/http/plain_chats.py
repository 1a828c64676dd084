"""Plain requests with a chat, which the kernel answers from their bytes as it does those with texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

from service.http.fast_path import Given, PlainRequests, PlainTexts
from service.http.json_body import refuse_many_values
from service.registry.engines import Engines
from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.schemas.requests import INLINE_STEPS
from service.settings import Settings
from tokenizer_core import ChatRoute, ContentFormat

_MESSAGES = b'"messages"'


class _Chats:
    """Asks the kernel about chats of one route, in which a caller's literals are text."""

    def __init__(self, route: ChatRoute, settings: Settings) -> None:
        self._route: ChatRoute = route
        self._most_items = settings.max_items
        self._content_format = cast(ContentFormat, settings.content_format)
        self._is_on = settings.chat_literals == "text"

    def ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool) -> Given:
        if not self._is_on or _MESSAGES not in body or (loaded.takes_long(len(body)) and not may_take_long):
            return None
        refuse_many_values(body)
        return loaded.chats.answer(
            self._route,
            body,
            reference,
            content_format=self._content_format,
            max_items=self._most_items,
            most=None if may_take_long else INLINE_STEPS,
        )


class PlainTextsOrChats(PlainTexts):
    """Requests of a native route with texts, or with one chat."""

    def __init__(
        self, route: Literal["encode", "count"], registry: Callable[[], Registry], settings: Settings, threads: int
    ) -> None:
        super().__init__(route, registry, settings, threads)
        self._chats = _Chats(route, settings)

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool) -> Given:
        given = super()._ask(loaded, body, reference, may_take_long)
        return self._chats.ask(loaded, body, reference, may_take_long) if given is None else given


class PlainTokenize(PlainRequests):
    """Requests with one chat to ``/tokenize`` as vLLM has it."""

    def __init__(self, registry: Callable[[], Registry], settings: Settings, engines: Engines) -> None:
        super().__init__(registry, settings)
        self._chats = _Chats("tokenize", settings)
        self._has_engine_literals = engines.engine_literals > 0

    def _find(self, registry: Registry, reference: str) -> ServedTokenizer:
        return registry.of_model(reference)

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool) -> Given:
        if self._has_engine_literals:
            return None
        return self._chats.ask(loaded, body, reference, may_take_long)
